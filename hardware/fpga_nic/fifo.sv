// SPDX-License-Identifier: Apache-2.0
//
// A queue of a few words. `front` is the next one, if `valid`. Writes to a full queue are ignored.
module fifo #(
    parameter WIDTH = 8,
    parameter DEPTH_BITS = 4
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               put,
    input  wire  [ WIDTH-1:0] back,
    output wire               full,
    output wire               valid,
    output wire  [ WIDTH-1:0] front,
    input  wire               take,
    output wire  [DEPTH_BITS:0] count
);

  logic [WIDTH-1:0] words [0:(1<<DEPTH_BITS)-1];
  logic [DEPTH_BITS:0] written, taken;

  assign count = written - taken;
  assign full = count[DEPTH_BITS];
  assign valid = written != taken;
  assign front = words[taken[DEPTH_BITS-1:0]];

  always_ff @(posedge clk) begin
    if (put && !full) words[written[DEPTH_BITS-1:0]] <= back;
    if (rst) begin
      written <= 0;
      taken <= 0;
    end else begin
      if (put && !full) written <= written + 1'b1;
      if (take && valid) taken <= taken + 1'b1;
    end
  end

endmodule
