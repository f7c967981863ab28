// SPDX-License-Identifier: Apache-2.0
//
// Stub for the Verilator check of summing_nic_corundum: an application block with the ports of Corundum's that the
// wrapper uses, and their widths for two ports of 100 Gbit/s. Not Corundum's module, and not to be built.
module mqnic_app_block #(
    parameter PORT_COUNT               = 2,
    parameter PTP_TS_ENABLE            = 1,
    parameter PTP_TS_WIDTH             = 96,
    parameter TX_TAG_WIDTH             = 16,
    parameter AXIL_APP_CTRL_DATA_WIDTH = 32,
    parameter AXIL_APP_CTRL_ADDR_WIDTH = 16,
    parameter AXIL_APP_CTRL_STRB_WIDTH = (AXIL_APP_CTRL_DATA_WIDTH / 8),
    parameter AXIS_DATA_WIDTH          = 512,
    parameter AXIS_TX_USER_WIDTH       = TX_TAG_WIDTH + 1,
    parameter AXIS_RX_USER_WIDTH       = (PTP_TS_ENABLE ? PTP_TS_WIDTH : 0) + 1,
    parameter AXIS_SYNC_DATA_WIDTH     = AXIS_DATA_WIDTH,
    parameter AXIS_SYNC_KEEP_WIDTH     = AXIS_SYNC_DATA_WIDTH / 8,
    parameter AXIS_SYNC_TX_USER_WIDTH  = AXIS_TX_USER_WIDTH,
    parameter AXIS_SYNC_RX_USER_WIDTH  = AXIS_RX_USER_WIDTH
) (
    input  wire                                          clk,
    input  wire                                          rst,
    input  wire [          AXIL_APP_CTRL_ADDR_WIDTH-1:0] s_axil_app_ctrl_awaddr,
    input  wire [                                   2:0] s_axil_app_ctrl_awprot,
    input  wire                                          s_axil_app_ctrl_awvalid,
    output wire                                          s_axil_app_ctrl_awready,
    input  wire [          AXIL_APP_CTRL_DATA_WIDTH-1:0] s_axil_app_ctrl_wdata,
    input  wire [          AXIL_APP_CTRL_STRB_WIDTH-1:0] s_axil_app_ctrl_wstrb,
    input  wire                                          s_axil_app_ctrl_wvalid,
    output wire                                          s_axil_app_ctrl_wready,
    output wire [                                   1:0] s_axil_app_ctrl_bresp,
    output wire                                          s_axil_app_ctrl_bvalid,
    input  wire                                          s_axil_app_ctrl_bready,
    input  wire [          AXIL_APP_CTRL_ADDR_WIDTH-1:0] s_axil_app_ctrl_araddr,
    input  wire [                                   2:0] s_axil_app_ctrl_arprot,
    input  wire                                          s_axil_app_ctrl_arvalid,
    output wire                                          s_axil_app_ctrl_arready,
    output wire [          AXIL_APP_CTRL_DATA_WIDTH-1:0] s_axil_app_ctrl_rdata,
    output wire [                                   1:0] s_axil_app_ctrl_rresp,
    output wire                                          s_axil_app_ctrl_rvalid,
    input  wire                                          s_axil_app_ctrl_rready,
    input  wire [   PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:0] s_axis_sync_tx_tdata,
    input  wire [   PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:0] s_axis_sync_tx_tkeep,
    input  wire [                        PORT_COUNT-1:0] s_axis_sync_tx_tvalid,
    output wire [                        PORT_COUNT-1:0] s_axis_sync_tx_tready,
    input  wire [                        PORT_COUNT-1:0] s_axis_sync_tx_tlast,
    input  wire [PORT_COUNT*AXIS_SYNC_TX_USER_WIDTH-1:0] s_axis_sync_tx_tuser,
    output wire [   PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:0] m_axis_sync_tx_tdata,
    output wire [   PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:0] m_axis_sync_tx_tkeep,
    output wire [                        PORT_COUNT-1:0] m_axis_sync_tx_tvalid,
    input  wire [                        PORT_COUNT-1:0] m_axis_sync_tx_tready,
    output wire [                        PORT_COUNT-1:0] m_axis_sync_tx_tlast,
    output wire [PORT_COUNT*AXIS_SYNC_TX_USER_WIDTH-1:0] m_axis_sync_tx_tuser,
    input  wire [           PORT_COUNT*PTP_TS_WIDTH-1:0] s_axis_sync_tx_cpl_ts,
    input  wire [           PORT_COUNT*TX_TAG_WIDTH-1:0] s_axis_sync_tx_cpl_tag,
    input  wire [                        PORT_COUNT-1:0] s_axis_sync_tx_cpl_valid,
    output wire [                        PORT_COUNT-1:0] s_axis_sync_tx_cpl_ready,
    output wire [           PORT_COUNT*PTP_TS_WIDTH-1:0] m_axis_sync_tx_cpl_ts,
    output wire [           PORT_COUNT*TX_TAG_WIDTH-1:0] m_axis_sync_tx_cpl_tag,
    output wire [                        PORT_COUNT-1:0] m_axis_sync_tx_cpl_valid,
    input  wire [                        PORT_COUNT-1:0] m_axis_sync_tx_cpl_ready,
    input  wire [   PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:0] s_axis_sync_rx_tdata,
    input  wire [   PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:0] s_axis_sync_rx_tkeep,
    input  wire [                        PORT_COUNT-1:0] s_axis_sync_rx_tvalid,
    output wire [                        PORT_COUNT-1:0] s_axis_sync_rx_tready,
    input  wire [                        PORT_COUNT-1:0] s_axis_sync_rx_tlast,
    input  wire [PORT_COUNT*AXIS_SYNC_RX_USER_WIDTH-1:0] s_axis_sync_rx_tuser,
    output wire [   PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:0] m_axis_sync_rx_tdata,
    output wire [   PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:0] m_axis_sync_rx_tkeep,
    output wire [                        PORT_COUNT-1:0] m_axis_sync_rx_tvalid,
    input  wire [                        PORT_COUNT-1:0] m_axis_sync_rx_tready,
    output wire [                        PORT_COUNT-1:0] m_axis_sync_rx_tlast,
    output wire [PORT_COUNT*AXIS_SYNC_RX_USER_WIDTH-1:0] m_axis_sync_rx_tuser
);

  // The device is at port 0; the other ports pass everything through.
  summing_nic_corundum #(
      .TX_TAG_WIDTH(TX_TAG_WIDTH),
      .PTP_TS_WIDTH(PTP_TS_WIDTH),
      .TX_USER_WIDTH(AXIS_SYNC_TX_USER_WIDTH),
      .RX_USER_WIDTH(AXIS_SYNC_RX_USER_WIDTH),
      .ADDR_WIDTH(AXIL_APP_CTRL_ADDR_WIDTH)
  ) summing (
      .clk(clk),
      .rst(rst),
      .s_axil_app_ctrl_awaddr(s_axil_app_ctrl_awaddr),
      .s_axil_app_ctrl_awprot(s_axil_app_ctrl_awprot),
      .s_axil_app_ctrl_awvalid(s_axil_app_ctrl_awvalid),
      .s_axil_app_ctrl_awready(s_axil_app_ctrl_awready),
      .s_axil_app_ctrl_wdata(s_axil_app_ctrl_wdata),
      .s_axil_app_ctrl_wstrb(s_axil_app_ctrl_wstrb),
      .s_axil_app_ctrl_wvalid(s_axil_app_ctrl_wvalid),
      .s_axil_app_ctrl_wready(s_axil_app_ctrl_wready),
      .s_axil_app_ctrl_bresp(s_axil_app_ctrl_bresp),
      .s_axil_app_ctrl_bvalid(s_axil_app_ctrl_bvalid),
      .s_axil_app_ctrl_bready(s_axil_app_ctrl_bready),
      .s_axil_app_ctrl_araddr(s_axil_app_ctrl_araddr),
      .s_axil_app_ctrl_arprot(s_axil_app_ctrl_arprot),
      .s_axil_app_ctrl_arvalid(s_axil_app_ctrl_arvalid),
      .s_axil_app_ctrl_arready(s_axil_app_ctrl_arready),
      .s_axil_app_ctrl_rdata(s_axil_app_ctrl_rdata),
      .s_axil_app_ctrl_rresp(s_axil_app_ctrl_rresp),
      .s_axil_app_ctrl_rvalid(s_axil_app_ctrl_rvalid),
      .s_axil_app_ctrl_rready(s_axil_app_ctrl_rready),
      .s_axis_sync_tx_tdata(s_axis_sync_tx_tdata[AXIS_SYNC_DATA_WIDTH-1:0]),
      .s_axis_sync_tx_tkeep(s_axis_sync_tx_tkeep[AXIS_SYNC_KEEP_WIDTH-1:0]),
      .s_axis_sync_tx_tvalid(s_axis_sync_tx_tvalid[0]),
      .s_axis_sync_tx_tready(s_axis_sync_tx_tready[0]),
      .s_axis_sync_tx_tlast(s_axis_sync_tx_tlast[0]),
      .s_axis_sync_tx_tuser(s_axis_sync_tx_tuser[AXIS_SYNC_TX_USER_WIDTH-1:0]),
      .m_axis_sync_tx_tdata(m_axis_sync_tx_tdata[AXIS_SYNC_DATA_WIDTH-1:0]),
      .m_axis_sync_tx_tkeep(m_axis_sync_tx_tkeep[AXIS_SYNC_KEEP_WIDTH-1:0]),
      .m_axis_sync_tx_tvalid(m_axis_sync_tx_tvalid[0]),
      .m_axis_sync_tx_tready(m_axis_sync_tx_tready[0]),
      .m_axis_sync_tx_tlast(m_axis_sync_tx_tlast[0]),
      .m_axis_sync_tx_tuser(m_axis_sync_tx_tuser[AXIS_SYNC_TX_USER_WIDTH-1:0]),
      .s_axis_sync_tx_cpl_ts(s_axis_sync_tx_cpl_ts[PTP_TS_WIDTH-1:0]),
      .s_axis_sync_tx_cpl_tag(s_axis_sync_tx_cpl_tag[TX_TAG_WIDTH-1:0]),
      .s_axis_sync_tx_cpl_valid(s_axis_sync_tx_cpl_valid[0]),
      .s_axis_sync_tx_cpl_ready(s_axis_sync_tx_cpl_ready[0]),
      .m_axis_sync_tx_cpl_ts(m_axis_sync_tx_cpl_ts[PTP_TS_WIDTH-1:0]),
      .m_axis_sync_tx_cpl_tag(m_axis_sync_tx_cpl_tag[TX_TAG_WIDTH-1:0]),
      .m_axis_sync_tx_cpl_valid(m_axis_sync_tx_cpl_valid[0]),
      .m_axis_sync_tx_cpl_ready(m_axis_sync_tx_cpl_ready[0]),
      .s_axis_sync_rx_tdata(s_axis_sync_rx_tdata[AXIS_SYNC_DATA_WIDTH-1:0]),
      .s_axis_sync_rx_tkeep(s_axis_sync_rx_tkeep[AXIS_SYNC_KEEP_WIDTH-1:0]),
      .s_axis_sync_rx_tvalid(s_axis_sync_rx_tvalid[0]),
      .s_axis_sync_rx_tready(s_axis_sync_rx_tready[0]),
      .s_axis_sync_rx_tlast(s_axis_sync_rx_tlast[0]),
      .s_axis_sync_rx_tuser(s_axis_sync_rx_tuser[AXIS_SYNC_RX_USER_WIDTH-1:0]),
      .m_axis_sync_rx_tdata(m_axis_sync_rx_tdata[AXIS_SYNC_DATA_WIDTH-1:0]),
      .m_axis_sync_rx_tkeep(m_axis_sync_rx_tkeep[AXIS_SYNC_KEEP_WIDTH-1:0]),
      .m_axis_sync_rx_tvalid(m_axis_sync_rx_tvalid[0]),
      .m_axis_sync_rx_tready(m_axis_sync_rx_tready[0]),
      .m_axis_sync_rx_tlast(m_axis_sync_rx_tlast[0]),
      .m_axis_sync_rx_tuser(m_axis_sync_rx_tuser[AXIS_SYNC_RX_USER_WIDTH-1:0])
  );

  if (PORT_COUNT > 1) begin : others
    assign m_axis_sync_tx_tdata[PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:AXIS_SYNC_DATA_WIDTH] =
           s_axis_sync_tx_tdata[PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:AXIS_SYNC_DATA_WIDTH];
    assign m_axis_sync_tx_tkeep[PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:AXIS_SYNC_KEEP_WIDTH] =
           s_axis_sync_tx_tkeep[PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:AXIS_SYNC_KEEP_WIDTH];
    assign m_axis_sync_tx_tuser[PORT_COUNT*AXIS_SYNC_TX_USER_WIDTH-1:AXIS_SYNC_TX_USER_WIDTH] =
           s_axis_sync_tx_tuser[PORT_COUNT*AXIS_SYNC_TX_USER_WIDTH-1:AXIS_SYNC_TX_USER_WIDTH];
    assign m_axis_sync_tx_tvalid[PORT_COUNT-1:1] = s_axis_sync_tx_tvalid[PORT_COUNT-1:1];
    assign s_axis_sync_tx_tready[PORT_COUNT-1:1] = m_axis_sync_tx_tready[PORT_COUNT-1:1];
    assign m_axis_sync_tx_tlast[PORT_COUNT-1:1] = s_axis_sync_tx_tlast[PORT_COUNT-1:1];
    assign m_axis_sync_tx_cpl_ts[PORT_COUNT*PTP_TS_WIDTH-1:PTP_TS_WIDTH] =
           s_axis_sync_tx_cpl_ts[PORT_COUNT*PTP_TS_WIDTH-1:PTP_TS_WIDTH];
    assign m_axis_sync_tx_cpl_tag[PORT_COUNT*TX_TAG_WIDTH-1:TX_TAG_WIDTH] =
           s_axis_sync_tx_cpl_tag[PORT_COUNT*TX_TAG_WIDTH-1:TX_TAG_WIDTH];
    assign m_axis_sync_tx_cpl_valid[PORT_COUNT-1:1] = s_axis_sync_tx_cpl_valid[PORT_COUNT-1:1];
    assign s_axis_sync_tx_cpl_ready[PORT_COUNT-1:1] = m_axis_sync_tx_cpl_ready[PORT_COUNT-1:1];
    assign m_axis_sync_rx_tdata[PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:AXIS_SYNC_DATA_WIDTH] =
           s_axis_sync_rx_tdata[PORT_COUNT*AXIS_SYNC_DATA_WIDTH-1:AXIS_SYNC_DATA_WIDTH];
    assign m_axis_sync_rx_tkeep[PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:AXIS_SYNC_KEEP_WIDTH] =
           s_axis_sync_rx_tkeep[PORT_COUNT*AXIS_SYNC_KEEP_WIDTH-1:AXIS_SYNC_KEEP_WIDTH];
    assign m_axis_sync_rx_tuser[PORT_COUNT*AXIS_SYNC_RX_USER_WIDTH-1:AXIS_SYNC_RX_USER_WIDTH] =
           s_axis_sync_rx_tuser[PORT_COUNT*AXIS_SYNC_RX_USER_WIDTH-1:AXIS_SYNC_RX_USER_WIDTH];
    assign m_axis_sync_rx_tvalid[PORT_COUNT-1:1] = s_axis_sync_rx_tvalid[PORT_COUNT-1:1];
    assign s_axis_sync_rx_tready[PORT_COUNT-1:1] = m_axis_sync_rx_tready[PORT_COUNT-1:1];
    assign m_axis_sync_rx_tlast[PORT_COUNT-1:1] = s_axis_sync_rx_tlast[PORT_COUNT-1:1];
  end

endmodule
