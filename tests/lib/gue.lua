-- SPDX-License-Identifier: BSD-2-Clause
--
-- A dissector of GUE (draft-ietf-intarea-gue) for tshark, which has none: variant 1, an IP packet
-- directly after the UDP header, and variant 0 with Weir's private data. What contradicts itself
-- is an expert error.

local gue = Proto("weirgue", "Generic UDP Encapsulation")
local wrong = ProtoExpert.new("weirgue.wrong", "GUE is wrong", expert.group.MALFORMED,
	expert.severity.ERROR)
local owner4 = ProtoField.ipv4("weirgue.owner4", "Other owner")
local owner6 = ProtoField.ipv6("weirgue.owner6", "Other owner")
gue.experts = { wrong }
gue.fields = { owner4, owner6 }

-- Four bytes of kind, hops, flags and family, then an address.
local function private_data(data, tree)
	local family = data(3, 1):uint()
	if data(0, 3):uint() ~= 0x010000 then
		tree:add_proto_expert_info(wrong, "private data of a kind not known")
	end
	if data:len() == 8 and family == 4 then
		tree:add(owner4, data(4, 4))
	elseif data:len() == 20 and family == 6 then
		tree:add(owner6, data(4, 16))
	elseif family ~= 0 or (data:len() ~= 8 and data:len() ~= 20) then
		tree:add_proto_expert_info(wrong, "a family that does not fit the length")
	else
		for at = 4, data:len() - 1 do
			if data(at, 1):uint() ~= 0 then
				tree:add_proto_expert_info(wrong, "an owner without a family")
			end
		end
	end
end

-- The inner packet must fill what is left, and be what the header says.
local function inner(buffer, pinfo, root, tree, version)
	local length = 0
	if buffer:len() >= 20 and version == 4 then
		length = buffer(2, 2):uint()
	elseif buffer:len() >= 40 and version == 6 then
		length = 40 + buffer(4, 2):uint()
	end
	if length ~= buffer:len() or buffer(0, 1):bitfield(0, 4) ~= version then
		tree:add_proto_expert_info(wrong, "the inner packet has another length or version")
		return
	end
	Dissector.get(version == 4 and "ip" or "ipv6"):call(buffer, pinfo, root)
end

function gue.dissector(buffer, pinfo, root)
	local tree = root:add(gue, buffer())
	local variant = buffer(0, 1):bitfield(0, 2)
	if variant == 1 then
		inner(buffer, pinfo, root, tree, buffer(0, 1):bitfield(0, 4))
		return
	end
	local words = buffer(0, 1):bitfield(3, 5)
	local version = ({ [4] = 4, [41] = 6 })[buffer(1, 1):uint()]
	if variant ~= 0 or buffer(0, 1):bitfield(2, 1) ~= 0 or buffer(2, 2):uint() ~= 0 or
		not version or words < 1 then
		tree:add_proto_expert_info(wrong, "not a header that is sent")
		return
	end
	private_data(buffer(4, words * 4), tree)
	inner(buffer(4 + words * 4):tvb(), pinfo, root, tree, version)
end

DissectorTable.get("udp.port"):add(6080, gue)
