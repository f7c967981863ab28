// SPDX-License-Identifier: Apache-2.0
//
// A block memory with one write port and one read port. Data follows its address by two cycles, and advances only
// while `read` is set.
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
