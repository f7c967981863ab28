// SPDX-License-Identifier: Apache-2.0
//
// summing_nic in the 250 MHz user box of OpenNIC, at one port: between the host's queues and the MAC's
// (docs/guide/proven.md: simulated in parts).
//
// It takes the place of p2p_250mhz for one interface (NUM_INTF = 1), with its ports; stubs/box_250mhz.sv shows how.
//
//   - Frames from the network go to the host unchanged, and the device taps them. Frames for the device have its MAC
//     address, which is not the host's, so the host drops them. OpenNIC marks no frame as bad: its MAC has dropped bad
//     ones.
//   - Frames of the device leave between the host's frames. tuser_size of a frame is its IPv4 length plus 14 bytes.
//   - Registers are in the clock of AXI-Lite, the device in that of the streams.
module summing_nic_opennic #(
    parameter INTERFACE = 0,  // its number: bit 6 + this of tuser_dst is its port, bit 0 + this its host function
    parameter SLOTS     = 512
) (
    input  wire         s_axil_awvalid,
    input  wire [ 31:0] s_axil_awaddr,
    output wire         s_axil_awready,
    input  wire         s_axil_wvalid,
    input  wire [ 31:0] s_axil_wdata,
    output wire         s_axil_wready,
    output wire         s_axil_bvalid,
    output wire [  1:0] s_axil_bresp,
    input  wire         s_axil_bready,
    input  wire         s_axil_arvalid,
    input  wire [ 31:0] s_axil_araddr,
    output wire         s_axil_arready,
    output wire         s_axil_rvalid,
    output wire [ 31:0] s_axil_rdata,
    output wire [  1:0] s_axil_rresp,
    input  wire         s_axil_rready,

    input  wire         s_axis_qdma_h2c_tvalid,
    input  wire [511:0] s_axis_qdma_h2c_tdata,
    input  wire [ 63:0] s_axis_qdma_h2c_tkeep,
    input  wire         s_axis_qdma_h2c_tlast,
    input  wire [ 15:0] s_axis_qdma_h2c_tuser_size,
    input  wire [ 15:0] s_axis_qdma_h2c_tuser_src,
    input  wire [ 15:0] s_axis_qdma_h2c_tuser_dst,
    output wire         s_axis_qdma_h2c_tready,

    output wire         m_axis_qdma_c2h_tvalid,
    output wire [511:0] m_axis_qdma_c2h_tdata,
    output wire [ 63:0] m_axis_qdma_c2h_tkeep,
    output wire         m_axis_qdma_c2h_tlast,
    output wire [ 15:0] m_axis_qdma_c2h_tuser_size,
    output wire [ 15:0] m_axis_qdma_c2h_tuser_src,
    output wire [ 15:0] m_axis_qdma_c2h_tuser_dst,
    input  wire         m_axis_qdma_c2h_tready,

    output wire         m_axis_adap_tx_250mhz_tvalid,
    output wire [511:0] m_axis_adap_tx_250mhz_tdata,
    output wire [ 63:0] m_axis_adap_tx_250mhz_tkeep,
    output wire         m_axis_adap_tx_250mhz_tlast,
    output wire [ 15:0] m_axis_adap_tx_250mhz_tuser_size,
    output wire [ 15:0] m_axis_adap_tx_250mhz_tuser_src,
    output wire [ 15:0] m_axis_adap_tx_250mhz_tuser_dst,
    input  wire         m_axis_adap_tx_250mhz_tready,

    input  wire         s_axis_adap_rx_250mhz_tvalid,
    input  wire [511:0] s_axis_adap_rx_250mhz_tdata,
    input  wire [ 63:0] s_axis_adap_rx_250mhz_tkeep,
    input  wire         s_axis_adap_rx_250mhz_tlast,
    input  wire [ 15:0] s_axis_adap_rx_250mhz_tuser_size,
    input  wire [ 15:0] s_axis_adap_rx_250mhz_tuser_src,
    input  wire [ 15:0] s_axis_adap_rx_250mhz_tuser_dst,
    output wire         s_axis_adap_rx_250mhz_tready,

    input  wire         mod_rstn,
    output wire         mod_rst_done,
    input  wire         axil_aclk,
    input  wire         axis_aclk
);

  // Reset, in both clocks: asserted at once, released some clocks later.
  (* ASYNC_REG = "TRUE" *) logic [3:0] axil_on, axis_on;
  logic axil_rst, axis_rst, done;
  wire axis_runs;

  always_ff @(posedge axil_aclk or negedge mod_rstn) begin
    if (!mod_rstn) begin
      axil_on  <= 4'd0;
      axil_rst <= 1'b1;
    end else begin
      axil_on  <= {axil_on[2:0], 1'b1};
      axil_rst <= !axil_on[3];
    end
  end
  always_ff @(posedge axis_aclk or negedge mod_rstn) begin
    if (!mod_rstn) begin
      axis_on  <= 4'd0;
      axis_rst <= 1'b1;
    end else begin
      axis_on  <= {axis_on[2:0], 1'b1};
      axis_rst <= !axis_on[3];
    end
  end
  synchroniser from_axis (
      .clk(axil_aclk),
      .from(!axis_rst),
      .to(axis_runs)
  );
  always_ff @(posedge axil_aclk) done <= axis_runs && !axil_rst;
  assign mod_rst_done = done;

  // From the network to the host.
  localparam logic [15:0] port_bit = 16'd1 << (6 + INTERFACE);
  localparam logic [15:0] host_bit = 16'd1 << INTERFACE;

  assign m_axis_qdma_c2h_tvalid      = s_axis_adap_rx_250mhz_tvalid;
  assign m_axis_qdma_c2h_tdata       = s_axis_adap_rx_250mhz_tdata;
  assign m_axis_qdma_c2h_tkeep       = s_axis_adap_rx_250mhz_tkeep;
  assign m_axis_qdma_c2h_tlast       = s_axis_adap_rx_250mhz_tlast;
  assign m_axis_qdma_c2h_tuser_size  = s_axis_adap_rx_250mhz_tuser_size;
  assign m_axis_qdma_c2h_tuser_src   = s_axis_adap_rx_250mhz_tuser_src;
  assign m_axis_qdma_c2h_tuser_dst   = host_bit;
  assign s_axis_adap_rx_250mhz_tready = m_axis_qdma_c2h_tready;

  wire seen;
  stream_tap tap (
      .clk(axis_aclk),
      .rst(axis_rst),
      .valid(s_axis_adap_rx_250mhz_tvalid),
      .ready(s_axis_adap_rx_250mhz_tready),
      .shown(seen)
  );

  wire [511:0] nic_tdata;
  wire [ 63:0] nic_tkeep;
  wire         nic_tvalid;
  wire         nic_tready;
  wire         nic_tlast;

  wire [ 11:0] awaddr, araddr;
  wire         awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
  wire [ 31:0] wdata, rdata;
  wire [  1:0] bresp, rresp;

  register_crossing crossing (
      .s_clk(axil_aclk),
      .s_rst(axil_rst),
      .s_awaddr(s_axil_awaddr[11:0]),
      .s_awvalid(s_axil_awvalid),
      .s_awready(s_axil_awready),
      .s_wdata(s_axil_wdata),
      .s_wvalid(s_axil_wvalid),
      .s_wready(s_axil_wready),
      .s_bresp(s_axil_bresp),
      .s_bvalid(s_axil_bvalid),
      .s_bready(s_axil_bready),
      .s_araddr(s_axil_araddr[11:0]),
      .s_arvalid(s_axil_arvalid),
      .s_arready(s_axil_arready),
      .s_rdata(s_axil_rdata),
      .s_rresp(s_axil_rresp),
      .s_rvalid(s_axil_rvalid),
      .s_rready(s_axil_rready),
      .m_clk(axis_aclk),
      .m_rst(axis_rst),
      .m_awaddr(awaddr),
      .m_awvalid(awvalid),
      .m_awready(awready),
      .m_wdata(wdata),
      .m_wvalid(wvalid),
      .m_wready(wready),
      .m_bresp(bresp),
      .m_bvalid(bvalid),
      .m_bready(bready),
      .m_araddr(araddr),
      .m_arvalid(arvalid),
      .m_arready(arready),
      .m_rdata(rdata),
      .m_rresp(rresp),
      .m_rvalid(rvalid),
      .m_rready(rready)
  );

  /* verilator lint_off PINCONNECTEMPTY */
  summing_nic #(
      .SLOTS(SLOTS),
      .DROP_WHEN_FULL(1)
  ) nic (
      .clk(axis_aclk),
      .rst(axis_rst),
      .s_axis_tdata(s_axis_adap_rx_250mhz_tdata),
      .s_axis_tkeep(s_axis_adap_rx_250mhz_tkeep),
      .s_axis_tvalid(seen),
      .s_axis_tready(),
      .s_axis_tlast(s_axis_adap_rx_250mhz_tlast),
      .s_axis_tuser(1'b0),
      .overflow(),
      .idle(),
      .m_axis_tdata(nic_tdata),
      .m_axis_tkeep(nic_tkeep),
      .m_axis_tvalid(nic_tvalid),
      .m_axis_tready(nic_tready),
      .m_axis_tlast(nic_tlast),
      .m_axis_tuser(),
      .s_axil_awaddr(awaddr),
      .s_axil_awprot(3'd0),
      .s_axil_awvalid(awvalid),
      .s_axil_awready(awready),
      .s_axil_wdata(wdata),
      .s_axil_wstrb(4'd15),
      .s_axil_wvalid(wvalid),
      .s_axil_wready(wready),
      .s_axil_bresp(bresp),
      .s_axil_bvalid(bvalid),
      .s_axil_bready(bready),
      .s_axil_araddr(araddr),
      .s_axil_arprot(3'd0),
      .s_axil_arvalid(arvalid),
      .s_axil_arready(arready),
      .s_axil_rdata(rdata),
      .s_axil_rresp(rresp),
      .s_axil_rvalid(rvalid),
      .s_axil_rready(rready)
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // The first beat contains the whole IPv4 header: its total length is in bytes 16 and 17 of the frame.
  logic nic_inside;
  logic [15:0] nic_size_kept;
  wire [15:0] nic_size = nic_inside ? nic_size_kept : {nic_tdata[16*8+:8], nic_tdata[17*8+:8]} + 16'd14;

  always_ff @(posedge axis_aclk) begin
    if (axis_rst) begin
      nic_inside <= 1'b0;
    end else if (nic_tvalid && nic_tready) begin
      nic_inside    <= !nic_tlast;
      nic_size_kept <= nic_size;
    end
  end

  frame_merge #(
      .WIDTH(512 + 64 + 32)
  ) merge (
      .clk(axis_aclk),
      .rst(axis_rst),
      .a_beat({s_axis_qdma_h2c_tdata, s_axis_qdma_h2c_tkeep, s_axis_qdma_h2c_tuser_size, s_axis_qdma_h2c_tuser_src}),
      .a_valid(s_axis_qdma_h2c_tvalid),
      .a_ready(s_axis_qdma_h2c_tready),
      .a_last(s_axis_qdma_h2c_tlast),
      .b_beat({nic_tdata, nic_tkeep, nic_size, host_bit}),
      .b_valid(nic_tvalid),
      .b_ready(nic_tready),
      .b_last(nic_tlast),
      .beat({
        m_axis_adap_tx_250mhz_tdata,
        m_axis_adap_tx_250mhz_tkeep,
        m_axis_adap_tx_250mhz_tuser_size,
        m_axis_adap_tx_250mhz_tuser_src
      }),
      .valid(m_axis_adap_tx_250mhz_tvalid),
      .ready(m_axis_adap_tx_250mhz_tready),
      .last(m_axis_adap_tx_250mhz_tlast)
  );
  assign m_axis_adap_tx_250mhz_tuser_dst = port_bit;

  /* verilator lint_off UNUSED */
  wire unused = &{1'b0, s_axil_awaddr[31:12], s_axil_araddr[31:12], s_axis_qdma_h2c_tuser_dst,
                  s_axis_adap_rx_250mhz_tuser_dst};
  /* verilator lint_on UNUSED */

endmodule
