// SPDX-License-Identifier: Apache-2.0
//
// a + b in float32, with a processor's result: subnormals, round to nearest, ties to even, -0 preserved. All NaNs are
// 0x7fc00000. Five stages, one pair a cycle.
module float32_add (
    input  wire         clk,
    input  wire  [31:0] a,
    input  wire  [31:0] b,
    output logic [31:0] sum
);

  // Returns 27 if there is no one.
  function automatic [4:0] leading_zeros(input [26:0] bits);
    integer i;
    begin
      leading_zeros = 5'd27;
      for (i = 0; i < 27; i = i + 1) if (bits[i]) leading_zeros = 5'd26 - i[4:0];
    end
  endfunction

  // 1: orders by magnitude. An exponent of 0 counts as 1, without the hidden bit.
  wire a_is_normal = a[30:23] != 8'd0;
  wire b_is_normal = b[30:23] != 8'd0;
  wire [7:0] a_exponent = {a[30:24], a[23] || !a_is_normal};
  wire [7:0] b_exponent = {b[30:24], b[23] || !b_is_normal};
  wire b_is_larger = b[30:0] > a[30:0];
  wire a_is_special = &a[30:23];
  wire b_is_special = &b[30:23];

  logic        sign1, subtracts1;
  logic [ 7:0] exponent1, distance1;
  logic [23:0] large1, small1;
  logic        is_nan1, is_infinite1;
  always_ff @(posedge clk) begin
    sign1 <= b_is_larger ? b[31] : a[31];
    subtracts1 <= a[31] != b[31];
    exponent1 <= b_is_larger ? b_exponent : a_exponent;
    distance1 <= b_is_larger ? b_exponent - a_exponent : a_exponent - b_exponent;
    large1 <= b_is_larger ? {b_is_normal, b[22:0]} : {a_is_normal, a[22:0]};
    small1 <= b_is_larger ? {a_is_normal, a[22:0]} : {b_is_normal, b[22:0]};
    is_nan1 <= (a_is_special && a[22:0] != 23'd0) || (b_is_special && b[22:0] != 23'd0) ||
               (a_is_special && b_is_special && a[31] != b[31]);
    is_infinite1 <= a_is_special || b_is_special;
  end

  // 2: aligns the smaller one, step by step, with a guard, a round and a sticky bit. A distance of 32 or more shifts
  // it out.
  wire [26:0] by0 = {small1, 3'b000};
  wire [26:0] by16 = distance1[4] ? {16'd0, by0[26:17], by0[16:0] != 17'd0} : by0;
  wire [26:0] by8 = distance1[3] ? {8'd0, by16[26:9], by16[8:0] != 9'd0} : by16;
  wire [26:0] by4 = distance1[2] ? {4'd0, by8[26:5], by8[4:0] != 5'd0} : by8;
  wire [26:0] by2 = distance1[1] ? {2'd0, by4[26:3], by4[2:0] != 3'd0} : by4;
  wire [26:0] by1 = distance1[0] ? {1'd0, by2[26:2], by2[1:0] != 2'd0} : by2;

  logic        sign2, subtracts2, is_nan2, is_infinite2;
  logic [ 7:0] exponent2;
  logic [23:0] large2;
  logic [26:0] small2;
  always_ff @(posedge clk) begin
    sign2 <= sign1;
    subtracts2 <= subtracts1;
    is_nan2 <= is_nan1;
    is_infinite2 <= is_infinite1;
    exponent2 <= exponent1;
    large2 <= large1;
    small2 <= distance1[7:5] != 3'd0 ? 27'd0 : by1;
  end

  // 3: the sum or difference of magnitudes; and the limit of the left shift, at which the exponent is 1.
  logic        sign3, subtracts3, is_nan3, is_infinite3;
  logic [ 7:0] exponent3;
  logic [27:0] magnitude3;
  logic [26:0] stop3;
  always_ff @(posedge clk) begin
    sign3 <= sign2;
    subtracts3 <= subtracts2;
    is_nan3 <= is_nan2;
    is_infinite3 <= is_infinite2;
    exponent3 <= exponent2;
    magnitude3 <= {1'b0, large2, 3'b000} + ({1'b0, small2} ^ {28{subtracts2}}) + {27'd0, subtracts2};
    stop3 <= exponent2 > 8'd27 ? 27'd0 : 27'h4000000 >> (exponent2[4:0] - 5'd1);
  end

  // 4: normalises, as far as the limit allows. The leading one is in bit 26 if the exponent stays.
  wire [4:0] left = leading_zeros(magnitude3[26:0] | stop3);

  logic        sign4, is_nan4, is_infinite4;
  logic [ 7:0] exponent4;
  logic [26:0] magnitude4;
  always_ff @(posedge clk) begin
    sign4 <= sign3 && !(subtracts3 && magnitude3 == 28'd0);
    is_nan4 <= is_nan3;
    if (magnitude3[27]) begin
      exponent4 <= exponent3 + 8'd1;
      magnitude4 <= {magnitude3[27:2], magnitude3[1] | magnitude3[0]};
      is_infinite4 <= is_infinite3 || exponent3 == 8'd254;
    end else begin
      exponent4 <= exponent3 - {3'd0, left};
      magnitude4 <= magnitude3[26:0] << left;
      is_infinite4 <= is_infinite3;
    end
  end

  // 5: rounds. A carry out of the fraction increments the exponent, and turns the largest one into infinity.
  wire [7:0] field = magnitude4[26] ? exponent4 : 8'd0;
  wire up = magnitude4[2] && (magnitude4[1] || magnitude4[0] || magnitude4[3]);
  wire [30:0] rounded = {field, magnitude4[25:3]} + {30'd0, up};
  always_ff @(posedge clk) begin
    if (is_nan4) sum <= 32'h7fc00000;
    else if (is_infinite4) sum <= {sign4, 31'h7f800000};
    else sum <= {sign4, rounded};
  end

endmodule
