// SPDX-License-Identifier: Apache-2.0
//
// A block memory: one port writes, the other reads. What is read comes two cycles after its address, and moves on only
// where `read` is set.
module ram #(
    parameter WIDTH = 512,
    parameter DEPTH_BITS = 9
) (
    input  wire                   clk,
    input  wire                   write,
    input  wire  [DEPTH_BITS-1:0] write_at,
    input  wire  [     WIDTH-1:0] write_data,
    input  wire                   read,
    input  wire  [DEPTH_BITS-1:0] read_at,
    output logic [     WIDTH-1:0] read_data
);

  logic [WIDTH-1:0] words [0:(1<<DEPTH_BITS)-1];
  logic [WIDTH-1:0] word;

  always_ff @(posedge clk) begin
    if (write) words[write_at] <= write_data;
    if (read) begin
      word <= words[read_at];
      read_data <= word;
    end
  end

endmodule
