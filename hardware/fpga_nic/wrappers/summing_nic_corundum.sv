// SPDX-License-Identifier: Apache-2.0
//
// summing_nic in an application block of Corundum, at the synchronous interface of one port: between the MAC's queues
// and the host's (docs/guide/proven.md: simulated in parts).
//
// It belongs into mqnic_app_block, a copy of Corundum's template, in place of the assignments of s_axis_sync_* and
// m_axis_sync_* of the port, and of the RAM behind s_axil_app_ctrl_*. stubs/mqnic_app_block.sv shows how.
//
//   - Frames from the network go to the host unchanged, and the device taps them. Frames for the device have its MAC
//     address, which is not the host's, so the host drops them.
//   - Frames of the device leave between the host's frames. Their tags have the highest bit set, which the host's are
//     assumed not to have (they count descriptors); completions with that bit are kept from the host.
//   - A frame that tuser (bit 0) marks as bad reaches the device as bad. By default the MAC's stream has no tready, so
//     the device must take every beat: it does with DROP_WHEN_FULL = 1.
module summing_nic_corundum #(
    parameter TX_TAG_WIDTH  = 16,
    parameter PTP_TS_WIDTH  = 96,
    parameter TX_USER_WIDTH = TX_TAG_WIDTH + 1,
    parameter RX_USER_WIDTH = PTP_TS_WIDTH + 1,
    parameter ADDR_WIDTH    = 16,
    parameter SLOTS         = 512
) (
    input  wire                     clk,
    input  wire                     rst,

    input  wire [   ADDR_WIDTH-1:0] s_axil_app_ctrl_awaddr,
    input  wire [              2:0] s_axil_app_ctrl_awprot,
    input  wire                     s_axil_app_ctrl_awvalid,
    output wire                     s_axil_app_ctrl_awready,
    input  wire [             31:0] s_axil_app_ctrl_wdata,
    input  wire [              3:0] s_axil_app_ctrl_wstrb,
    input  wire                     s_axil_app_ctrl_wvalid,
    output wire                     s_axil_app_ctrl_wready,
    output wire [              1:0] s_axil_app_ctrl_bresp,
    output wire                     s_axil_app_ctrl_bvalid,
    input  wire                     s_axil_app_ctrl_bready,
    input  wire [   ADDR_WIDTH-1:0] s_axil_app_ctrl_araddr,
    input  wire [              2:0] s_axil_app_ctrl_arprot,
    input  wire                     s_axil_app_ctrl_arvalid,
    output wire                     s_axil_app_ctrl_arready,
    output wire [             31:0] s_axil_app_ctrl_rdata,
    output wire [              1:0] s_axil_app_ctrl_rresp,
    output wire                     s_axil_app_ctrl_rvalid,
    input  wire                     s_axil_app_ctrl_rready,

    input  wire [            511:0] s_axis_sync_tx_tdata,
    input  wire [             63:0] s_axis_sync_tx_tkeep,
    input  wire                     s_axis_sync_tx_tvalid,
    output wire                     s_axis_sync_tx_tready,
    input  wire                     s_axis_sync_tx_tlast,
    input  wire [TX_USER_WIDTH-1:0] s_axis_sync_tx_tuser,

    output wire [            511:0] m_axis_sync_tx_tdata,
    output wire [             63:0] m_axis_sync_tx_tkeep,
    output wire                     m_axis_sync_tx_tvalid,
    input  wire                     m_axis_sync_tx_tready,
    output wire                     m_axis_sync_tx_tlast,
    output wire [TX_USER_WIDTH-1:0] m_axis_sync_tx_tuser,

    input  wire [ PTP_TS_WIDTH-1:0] s_axis_sync_tx_cpl_ts,
    input  wire [ TX_TAG_WIDTH-1:0] s_axis_sync_tx_cpl_tag,
    input  wire                     s_axis_sync_tx_cpl_valid,
    output wire                     s_axis_sync_tx_cpl_ready,

    output wire [ PTP_TS_WIDTH-1:0] m_axis_sync_tx_cpl_ts,
    output wire [ TX_TAG_WIDTH-1:0] m_axis_sync_tx_cpl_tag,
    output wire                     m_axis_sync_tx_cpl_valid,
    input  wire                     m_axis_sync_tx_cpl_ready,

    input  wire [            511:0] s_axis_sync_rx_tdata,
    input  wire [             63:0] s_axis_sync_rx_tkeep,
    input  wire                     s_axis_sync_rx_tvalid,
    output wire                     s_axis_sync_rx_tready,
    input  wire                     s_axis_sync_rx_tlast,
    input  wire [RX_USER_WIDTH-1:0] s_axis_sync_rx_tuser,

    output wire [            511:0] m_axis_sync_rx_tdata,
    output wire [             63:0] m_axis_sync_rx_tkeep,
    output wire                     m_axis_sync_rx_tvalid,
    input  wire                     m_axis_sync_rx_tready,
    output wire                     m_axis_sync_rx_tlast,
    output wire [RX_USER_WIDTH-1:0] m_axis_sync_rx_tuser
);

  assign m_axis_sync_rx_tdata  = s_axis_sync_rx_tdata;
  assign m_axis_sync_rx_tkeep  = s_axis_sync_rx_tkeep;
  assign m_axis_sync_rx_tvalid = s_axis_sync_rx_tvalid;
  assign m_axis_sync_rx_tlast  = s_axis_sync_rx_tlast;
  assign m_axis_sync_rx_tuser  = s_axis_sync_rx_tuser;
  assign s_axis_sync_rx_tready = m_axis_sync_rx_tready;

  wire seen;
  stream_tap tap (
      .clk(clk),
      .rst(rst),
      .valid(s_axis_sync_rx_tvalid),
      .ready(s_axis_sync_rx_tready),
      .shown(seen)
  );

  wire [511:0] nic_tdata;
  wire [ 63:0] nic_tkeep;
  wire         nic_tvalid;
  wire         nic_tready;
  wire         nic_tlast;
  wire         nic_tuser;

  /* verilator lint_off PINCONNECTEMPTY */
  summing_nic #(
      .SLOTS(SLOTS),
      .DROP_WHEN_FULL(1)
  ) nic (
      .clk(clk),
      .rst(rst),
      .s_axis_tdata(s_axis_sync_rx_tdata),
      .s_axis_tkeep(s_axis_sync_rx_tkeep),
      .s_axis_tvalid(seen),
      .s_axis_tready(),
      .s_axis_tlast(s_axis_sync_rx_tlast),
      .s_axis_tuser(s_axis_sync_rx_tuser[0]),
      .overflow(),
      .idle(),
      .m_axis_tdata(nic_tdata),
      .m_axis_tkeep(nic_tkeep),
      .m_axis_tvalid(nic_tvalid),
      .m_axis_tready(nic_tready),
      .m_axis_tlast(nic_tlast),
      .m_axis_tuser(nic_tuser),
      .s_axil_awaddr(s_axil_app_ctrl_awaddr[11:0]),
      .s_axil_awprot(s_axil_app_ctrl_awprot),
      .s_axil_awvalid(s_axil_app_ctrl_awvalid),
      .s_axil_awready(s_axil_app_ctrl_awready),
      .s_axil_wdata(s_axil_app_ctrl_wdata),
      .s_axil_wstrb(s_axil_app_ctrl_wstrb),
      .s_axil_wvalid(s_axil_app_ctrl_wvalid),
      .s_axil_wready(s_axil_app_ctrl_wready),
      .s_axil_bresp(s_axil_app_ctrl_bresp),
      .s_axil_bvalid(s_axil_app_ctrl_bvalid),
      .s_axil_bready(s_axil_app_ctrl_bready),
      .s_axil_araddr(s_axil_app_ctrl_araddr[11:0]),
      .s_axil_arprot(s_axil_app_ctrl_arprot),
      .s_axil_arvalid(s_axil_app_ctrl_arvalid),
      .s_axil_arready(s_axil_app_ctrl_arready),
      .s_axil_rdata(s_axil_app_ctrl_rdata),
      .s_axil_rresp(s_axil_app_ctrl_rresp),
      .s_axil_rvalid(s_axil_app_ctrl_rvalid),
      .s_axil_rready(s_axil_app_ctrl_rready)
  );
  /* verilator lint_on PINCONNECTEMPTY */

  wire [TX_USER_WIDTH-1:0] nic_tx_tuser = {1'b1, {(TX_TAG_WIDTH - 1) {1'b0}}, nic_tuser};

  frame_merge #(
      .WIDTH(512 + 64 + TX_USER_WIDTH)
  ) merge (
      .clk(clk),
      .rst(rst),
      .a_beat({s_axis_sync_tx_tdata, s_axis_sync_tx_tkeep, s_axis_sync_tx_tuser}),
      .a_valid(s_axis_sync_tx_tvalid),
      .a_ready(s_axis_sync_tx_tready),
      .a_last(s_axis_sync_tx_tlast),
      .b_beat({nic_tdata, nic_tkeep, nic_tx_tuser}),
      .b_valid(nic_tvalid),
      .b_ready(nic_tready),
      .b_last(nic_tlast),
      .beat({m_axis_sync_tx_tdata, m_axis_sync_tx_tkeep, m_axis_sync_tx_tuser}),
      .valid(m_axis_sync_tx_tvalid),
      .ready(m_axis_sync_tx_tready),
      .last(m_axis_sync_tx_tlast)
  );

  wire own_completion = s_axis_sync_tx_cpl_tag[TX_TAG_WIDTH-1];

  assign m_axis_sync_tx_cpl_ts    = s_axis_sync_tx_cpl_ts;
  assign m_axis_sync_tx_cpl_tag   = s_axis_sync_tx_cpl_tag;
  assign m_axis_sync_tx_cpl_valid = s_axis_sync_tx_cpl_valid && !own_completion;
  assign s_axis_sync_tx_cpl_ready = own_completion || m_axis_sync_tx_cpl_ready;

  /* verilator lint_off UNUSED */
  wire unused = &{1'b0, s_axil_app_ctrl_awaddr[ADDR_WIDTH-1:12], s_axil_app_ctrl_araddr[ADDR_WIDTH-1:12]};
  /* verilator lint_on UNUSED */

endmodule
