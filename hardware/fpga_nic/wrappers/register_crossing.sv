// SPDX-License-Identifier: Apache-2.0
//
// AXI-Lite from one clock to another, one access at a time: the access is held stable on one side while a toggling
// bit signals the other side, and toggles back when it is complete. Synthesis must treat paths between the clocks as
// false, or bound them by a period.
module register_crossing #(
    parameter ADDR_WIDTH = 12
) (
    input  wire                  s_clk,
    input  wire                  s_rst,
    input  wire [ADDR_WIDTH-1:0] s_awaddr,
    input  wire                  s_awvalid,
    output wire                  s_awready,
    input  wire [          31:0] s_wdata,
    input  wire                  s_wvalid,
    output wire                  s_wready,
    output wire [           1:0] s_bresp,
    output wire                  s_bvalid,
    input  wire                  s_bready,
    input  wire [ADDR_WIDTH-1:0] s_araddr,
    input  wire                  s_arvalid,
    output wire                  s_arready,
    output wire [          31:0] s_rdata,
    output wire [           1:0] s_rresp,
    output wire                  s_rvalid,
    input  wire                  s_rready,

    input  wire                  m_clk,
    input  wire                  m_rst,
    output wire [ADDR_WIDTH-1:0] m_awaddr,
    output wire                  m_awvalid,
    input  wire                  m_awready,
    output wire [          31:0] m_wdata,
    output wire                  m_wvalid,
    input  wire                  m_wready,
    input  wire [           1:0] m_bresp,
    input  wire                  m_bvalid,
    output wire                  m_bready,
    output wire [ADDR_WIDTH-1:0] m_araddr,
    output wire                  m_arvalid,
    input  wire                  m_arready,
    input  wire [          31:0] m_rdata,
    input  wire [           1:0] m_rresp,
    input  wire                  m_rvalid,
    output wire                  m_rready
);

  // Master side.
  logic                  asked;      // toggles with each access
  logic                  waiting;    // waits for the answer
  logic                  answering;  // the answer is here, and not taken
  logic                  writes;
  logic [ADDR_WIDTH-1:0] address;
  logic [          31:0] value;
  wire                   answered_here;

  // Slave side.
  wire                   asked_here;
  logic                  answered;
  logic                  address_left, data_left;  // to be taken
  logic                  busy;
  logic [          31:0] result;
  logic [           1:0] status;

  wire free = !waiting && !answering;
  wire may_write = free && s_awvalid && s_wvalid;
  wire may_read = free && s_arvalid && !may_write;

  assign s_awready = may_write;
  assign s_wready  = may_write;
  assign s_arready = may_read;
  assign s_bvalid  = answering && writes;
  assign s_rvalid  = answering && !writes;
  assign s_bresp   = status;
  assign s_rresp   = status;
  assign s_rdata   = result;

  synchroniser from_m (
      .clk(s_clk),
      .from(answered),
      .to(answered_here)
  );
  always_ff @(posedge s_clk) begin
    if (s_rst) begin
      asked     <= 1'b0;
      waiting   <= 1'b0;
      answering <= 1'b0;
      writes    <= 1'b0;
    end else if (may_write || may_read) begin
      asked   <= !asked;
      waiting <= 1'b1;
      writes  <= may_write;
      address <= may_write ? s_awaddr : s_araddr;
      value   <= s_wdata;
    end else if (waiting && answered_here == asked) begin
      waiting   <= 1'b0;
      answering <= 1'b1;
    end else if ((s_bvalid && s_bready) || (s_rvalid && s_rready)) begin
      answering <= 1'b0;
    end
  end

  assign m_awaddr  = address;
  assign m_araddr  = address;
  assign m_wdata   = value;
  assign m_awvalid = busy && writes && address_left;
  assign m_wvalid  = busy && writes && data_left;
  assign m_arvalid = busy && !writes && address_left;
  assign m_bready  = busy && writes;
  assign m_rready  = busy && !writes;

  synchroniser from_s (
      .clk(m_clk),
      .from(asked),
      .to(asked_here)
  );
  always_ff @(posedge m_clk) begin
    if (m_rst) begin
      answered     <= 1'b0;
      busy         <= 1'b0;
      address_left <= 1'b0;
      data_left    <= 1'b0;
    end else if (!busy) begin
      if (asked_here != answered) begin
        busy         <= 1'b1;
        address_left <= 1'b1;
        data_left    <= 1'b1;
      end
    end else begin
      if ((m_awvalid && m_awready) || (m_arvalid && m_arready)) address_left <= 1'b0;
      if (m_wvalid && m_wready) data_left <= 1'b0;
      if (m_bvalid || m_rvalid) begin
        busy     <= 1'b0;
        answered <= !answered;
        result   <= m_rdata;
        status   <= m_bvalid ? m_bresp : m_rresp;
      end
    end
  end

endmodule
