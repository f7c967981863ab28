// SPDX-License-Identifier: Apache-2.0
//
// a * b in float32, with a processor's result: subnormals, round to nearest, ties to even. All NaNs are 0x7fc00000.
// Five stages, one pair a cycle.
module float32_multiply (
    input  wire         clk,
    input  wire  [31:0] a,
    input  wire  [31:0] b,
    output logic [31:0] product
);

  // Returns 48 if there is no one.
  function automatic [5:0] leading_zeros(input [47:0] bits);
    integer i;
    begin
      leading_zeros = 6'd48;
      for (i = 0; i < 48; i = i + 1) if (bits[i]) leading_zeros = 6'd47 - i[5:0];
    end
  endfunction

  // 1: significands. An exponent of 0 counts as 1, without the hidden bit. The exponent is that of a product whose
  // leading one is in the highest bit, from -124 on.
  wire a_is_normal = a[30:23] != 8'd0;
  wire b_is_normal = b[30:23] != 8'd0;
  wire [7:0] a_exponent = {a[30:24], a[23] || !a_is_normal};
  wire [7:0] b_exponent = {b[30:24], b[23] || !b_is_normal};
  wire a_is_special = &a[30:23];
  wire b_is_special = &b[30:23];
  wire a_is_zero = a[30:0] == 31'd0;
  wire b_is_zero = b[30:0] == 31'd0;

  logic        sign1, is_nan1, is_infinite1;
  logic [23:0] a1, b1;
  logic [ 9:0] exponent1;  // signed
  always_ff @(posedge clk) begin
    sign1 <= a[31] != b[31];
    is_nan1 <= (a_is_special && (a[22:0] != 23'd0 || b_is_zero)) || (b_is_special && (b[22:0] != 23'd0 || a_is_zero));
    is_infinite1 <= a_is_special || b_is_special;
    a1 <= {a_is_normal, a[22:0]};
    b1 <= {b_is_normal, b[22:0]};
    exponent1 <= {2'd0, a_exponent} + {2'd0, b_exponent} - 10'd126;
  end

  // 2: the exact product.
  logic        sign2, is_nan2, is_infinite2;
  logic [ 9:0] exponent2;
  logic [47:0] product2;
  always_ff @(posedge clk) begin
    sign2 <= sign1;
    is_nan2 <= is_nan1;
    is_infinite2 <= is_infinite1;
    exponent2 <= exponent1;
    product2 <= {24'd0, a1} * {24'd0, b1};
  end

  // 3: the limit of the left shift, at which the exponent is 1. Below that, the product shifts right.
  wire is_below2 = exponent2[9] || exponent2 == 10'd0;
  wire [9:0] room2 = exponent2 - 10'd1;
  wire [9:0] below2 = 10'd1 - exponent2;
  wire [5:0] zeros2 = leading_zeros(product2);

  logic        sign3, is_nan3, is_infinite3, is_below3;
  logic [ 9:0] exponent3;
  logic [47:0] product3;
  logic [ 5:0] shift3;
  always_ff @(posedge clk) begin
    sign3 <= sign2;
    is_nan3 <= is_nan2;
    is_infinite3 <= is_infinite2;
    is_below3 <= is_below2;
    product3 <= product2;
    if (is_below2) begin
      shift3 <= below2 > 10'd32 ? 6'd32 : below2[5:0];  // a larger shift leaves only the sticky bit
      exponent3 <= 10'd1;
    end else if (room2 < {4'd0, zeros2}) begin
      shift3 <= room2[5:0];
      exponent3 <= 10'd1;
    end else begin
      shift3 <= zeros2;
      exponent3 <= exponent2 - {4'd0, zeros2};
    end
  end

  // 4: normalises as far as the limit allows; 24 bits, a guard and a sticky bit.
  wire [47:0] left3 = product3 << shift3;
  wire [79:0] right3 = {product3, 32'd0} >> shift3;
  wire [79:0] placed3 = is_below3 ? right3 : {left3, 32'd0};

  logic        sign4, is_nan4, is_infinite4;
  logic [ 7:0] exponent4;
  logic [25:0] magnitude4;
  always_ff @(posedge clk) begin
    sign4 <= sign3;
    is_nan4 <= is_nan3;
    is_infinite4 <= is_infinite3 || (placed3[79] && exponent3 > 10'd254);
    exponent4 <= exponent3[7:0];
    magnitude4 <= {placed3[79:55], placed3[54:0] != 55'd0};
  end

  // 5: rounds. A carry out of the fraction increments the exponent, and turns the largest one into infinity.
  wire [7:0] field = magnitude4[25] ? exponent4 : 8'd0;
  wire up = magnitude4[1] && (magnitude4[0] || magnitude4[2]);
  wire [30:0] rounded = {field, magnitude4[24:2]} + {30'd0, up};
  always_ff @(posedge clk) begin
    if (is_nan4) product <= 32'h7fc00000;
    else if (is_infinite4) product <= {sign4, 31'h7f800000};
    else product <= {sign4, rounded};
  end

endmodule
