// SPDX-License-Identifier: Apache-2.0
//
// The parts of the wrappers, side by side, for the test that simulates them. Not to be built.
module wrapper_parts (
    input  wire        clk,
    input  wire        rst,
    input  wire [31:0] a_beat,
    input  wire        a_valid,
    output wire        a_ready,
    input  wire        a_last,
    input  wire [31:0] b_beat,
    input  wire        b_valid,
    output wire        b_ready,
    input  wire        b_last,
    output wire [31:0] beat,
    output wire        valid,
    input  wire        ready,
    output wire        last,

    input  wire        tap_valid,
    input  wire        tap_ready,
    output wire        tap_shown,

    input  wire        s_clk,
    input  wire        s_rst,
    input  wire [11:0] s_awaddr,
    input  wire        s_awvalid,
    output wire        s_awready,
    input  wire [31:0] s_wdata,
    input  wire        s_wvalid,
    output wire        s_wready,
    output wire [ 1:0] s_bresp,
    output wire        s_bvalid,
    input  wire        s_bready,
    input  wire [11:0] s_araddr,
    input  wire        s_arvalid,
    output wire        s_arready,
    output wire [31:0] s_rdata,
    output wire [ 1:0] s_rresp,
    output wire        s_rvalid,
    input  wire        s_rready,
    input  wire        m_clk,
    input  wire        m_rst,
    output wire [11:0] m_awaddr,
    output wire        m_awvalid,
    input  wire        m_awready,
    output wire [31:0] m_wdata,
    output wire        m_wvalid,
    input  wire        m_wready,
    input  wire [ 1:0] m_bresp,
    input  wire        m_bvalid,
    output wire        m_bready,
    output wire [11:0] m_araddr,
    output wire        m_arvalid,
    input  wire        m_arready,
    input  wire [31:0] m_rdata,
    input  wire [ 1:0] m_rresp,
    input  wire        m_rvalid,
    output wire        m_rready
);

  frame_merge #(
      .WIDTH(32)
  ) merge (
      .*
  );
  stream_tap tap (
      .clk(clk),
      .rst(rst),
      .valid(tap_valid),
      .ready(tap_ready),
      .shown(tap_shown)
  );
  register_crossing crossing (.*);

endmodule
