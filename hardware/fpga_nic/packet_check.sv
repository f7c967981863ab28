// SPDX-License-Identifier: Apache-2.0
//
// Checks the header of a packet (docs/hardware/fpga-nic-protocol.md), and decodes it for the device.
module packet_check (
    input  wire [175:0] head,        // 22 bytes, the first one in bits 0 to 7
    input  wire [ 15:0] udp_length,
    output wire         malformed,   // also for a packet that only programs handle
    output wire         has_tag      // otherwise well formed
);

  wire [3:0] kind = head[3:0];
  wire [7:0] operation = head[15:8];
  wire [15:0] length = head[143:128];
  wire [7:0] worker = head[151:144];
  wire [7:0] workers = head[159:152];
  wire [15:0] flags = head[175:160];

  wire [16:0] said = 17'd30 + {1'b0, length} + (flags[3] ? 17'd8 : 17'd0);
  wire combines = operation >= 8'd2 && operation <= 8'd5;
  wire has_terms = kind == 4'd5 && operation == 8'd5;
  wire is_keyed = flags[5];
  wire of_racks = flags[6];
  wire is_block = length == 16'd1024;
  wire [15:0] bitmap = {11'd0, workers[7:3]} + {15'd0, workers[2:0] != 3'd0};

  logic fits;
  always_comb begin
    if (has_terms) fits = !is_keyed && length == 16'd1040;
    else if (is_keyed && kind != 4'd7 && kind != 4'd10)
      fits = (kind == 4'd9 && is_block) || (kind == 4'd6 && (is_block || length == 16'd0));
    else case (kind)
      4'd1: fits = length == (of_racks ? 16'd8 : 16'd6);
      4'd2: fits = length == 16'd6;
      4'd13, 4'd14: fits = length <= 16'd1024;
      4'd3, 4'd4, 4'd7, 4'd15: fits = length == 16'd0;
      4'd5, 4'd6, 4'd9: fits = length <= 16'd1024 && !(combines && length[1:0] != 2'd0);
      4'd8: fits = length == 16'd0 || length == bitmap;
      4'd10: fits = length == 16'd1;
      default: fits = 1'b0;
    endcase
  end

  wire well_formed = head[7:4] == 4'd1 && flags[15:7] == 9'd0 && worker < workers && fits &&
                     said == {1'b0, udp_length};
  wire from_device = kind == 4'd2 || kind == 4'd6 || kind == 4'd8 || kind == 4'd10;
  wire is_for_others = from_device || kind >= 4'd13 || of_racks;

  assign has_tag = well_formed && flags[3];
  assign malformed = !well_formed || (!flags[3] && is_for_others);

  wire unused = &{1'b0, head[127:16], flags[4], flags[2:0]};

endmodule
