// SPDX-License-Identifier: Apache-2.0
//
// Merges two streams of frames, frame by frame: in turn, if both have one.
module frame_merge #(
    parameter WIDTH = 8  // width of a beat with all its signals but valid, ready and last
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [WIDTH-1:0] a_beat,
    input  wire             a_valid,
    output wire             a_ready,
    input  wire             a_last,
    input  wire [WIDTH-1:0] b_beat,
    input  wire             b_valid,
    output wire             b_ready,
    input  wire             b_last,
    output wire [WIDTH-1:0] beat,
    output wire             valid,
    input  wire             ready,
    output wire             last
);

  logic held;     // a frame has begun and not ended
  logic current;  // the frame is one of b; if there is none, b's turn is next
  wire  b = held ? current : (b_valid && (current || !a_valid));

  assign beat    = b ? b_beat : a_beat;
  assign valid   = b ? b_valid : a_valid;
  assign last    = b ? b_last : a_last;
  assign a_ready = ready && !b;
  assign b_ready = ready && b;

  always_ff @(posedge clk) begin
    if (rst) begin
      held    <= 1'b0;
      current <= 1'b0;
    end else if (valid) begin
      // From the first beat shown, taken or not: it may not change.
      held    <= !(ready && last);
      current <= (ready && last) ? !b : b;
    end
  end

endmodule
