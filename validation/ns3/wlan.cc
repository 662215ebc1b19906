// One 802.11 cell in ns-3, UDP up or down, one line of results a run. Built and called by wlan.py.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"
#include "ns3/yans-wifi-helper.h"
#include <cmath>
#include <cstdio>
#include <sstream>
#include <sys/resource.h>

using namespace ns3;

static uint64_t g_acked, g_sent;
static double g_warm, g_bin;
static std::vector<uint64_t> g_got, g_bytes;
// By station: payload in each bin, and when it became associated and stopped being so.
static std::vector<std::vector<uint64_t>> g_bins;
static std::vector<std::vector<double>> g_joined, g_left;

static bool Counts() { return Simulator::Now().GetSeconds() >= g_warm; }
static void Acked(Ptr<const WifiMpdu> m) { if (Counts() && m->GetHeader().IsData()) g_acked++; }
static void Sent(WifiConstPsduMap psdus, WifiTxVector, double)
{
    for (auto& psdu : psdus)
        if (Counts() && psdu.second->GetHeader(0).IsData()) g_sent += psdu.second->GetNMpdus();
}
static void Joined(uint32_t station, Mac48Address) { g_joined[station].push_back(Simulator::Now().GetSeconds()); }
static void Left(uint32_t station, Mac48Address) { g_left[station].push_back(Simulator::Now().GetSeconds()); }
static void Received(uint32_t flow, Ptr<const Packet> p, const Address&)
{
    size_t bin = Simulator::Now().GetSeconds() / g_bin;
    if (bin < g_bins[flow].size()) g_bins[flow][bin] += p->GetSize();
    if (!Counts()) return;
    g_got[flow]++;
    g_bytes[flow] += p->GetSize();
}

// A list of lists of one number each.
template <typename T> static void Print(const char* name, const std::vector<std::vector<T>>& lists, double scale)
{
    std::printf(", \"%s\": [", name);
    for (size_t i = 0; i < lists.size(); i++) {
        std::printf("%s[", i ? ", " : "");
        for (size_t j = 0; j < lists[i].size(); j++) std::printf("%s%.6f", j ? ", " : "", lists[i][j] * scale);
        std::printf("]");
    }
    std::printf("]");
}

// A place "x,y", or a walk "x,y/t,x,y/t,x,y" in straight lines.
static Ptr<MobilityModel> Walk(const std::string& text)
{
    std::stringstream list(text);
    std::vector<Waypoint> legs;
    for (std::string part; std::getline(list, part, '/');) {
        double t = 0, x, y;
        if (legs.empty()) std::sscanf(part.c_str(), "%lf,%lf", &x, &y);
        else std::sscanf(part.c_str(), "%lf,%lf,%lf", &t, &x, &y);
        legs.push_back(Waypoint(Seconds(t), Vector(x, y, 0)));
    }
    if (legs.size() == 1) {
        Ptr<ConstantPositionMobilityModel> fixed = CreateObject<ConstantPositionMobilityModel>();
        fixed->SetPosition(legs[0].position);
        return fixed;
    }
    Ptr<WaypointMobilityModel> walk = CreateObject<WaypointMobilityModel>();
    for (auto& leg : legs) walk->AddWaypoint(leg);
    return walk;
}

static double Cpu()
{
    rusage u; getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_utime.tv_usec * 1e-6 + u.ru_stime.tv_sec + u.ru_stime.tv_usec * 1e-6;
}

int main(int argc, char** argv)
{
    std::string standard = "ac", places = "5,0", error = "yans", direction = "up", rates = "1";
    uint32_t mcs = 4, width = 20, payload = 1472, aggregate = 65535, seed = 1, rts = 65535, streams = 1;
    bool shortGuard = true, detect = true, life = true;
    double seconds = 3, warm = 1, bin = 0;
    CommandLine cmd;
    cmd.AddValue("standard", "", standard); cmd.AddValue("places", "x,y;x,y, or walks x,y/t,x,y", places);
    cmd.AddValue("bin", "s; associations and goodput over time are printed too", bin);
    cmd.AddValue("error", "", error); cmd.AddValue("direction", "", direction);
    cmd.AddValue("rates", "Mbit/s of payload, one or one a station", rates);
    cmd.AddValue("mcs", "", mcs); cmd.AddValue("width", "", width); cmd.AddValue("payload", "", payload);
    cmd.AddValue("aggregate", "", aggregate); cmd.AddValue("seed", "", seed); cmd.AddValue("rts", "", rts);
    cmd.AddValue("short", "", shortGuard); cmd.AddValue("detect", "", detect); cmd.AddValue("life", "", life);
    cmd.AddValue("streams", "of 802.11ac", streams);
    cmd.AddValue("seconds", "measured", seconds); cmd.AddValue("warm", "", warm);
    cmd.Parse(argc, argv);
    g_warm = warm;
    RngSeedManager::SetRun(seed);

    std::vector<Ptr<MobilityModel>> at;
    std::stringstream list(places);
    for (std::string place; std::getline(list, place, ';');) at.push_back(Walk(place));
    std::vector<double> rate;
    std::stringstream rateList(rates);
    for (std::string r; std::getline(rateList, r, ',');) rate.push_back(std::stod(r));
    uint32_t n = at.size();
    g_got.resize(n); g_bytes.resize(n);
    g_bin = bin > 0 ? bin : 1;
    g_bins.assign(n, std::vector<uint64_t>(bin > 0 ? std::ceil((warm + seconds) / bin) : 0));
    g_joined.resize(n); g_left.resize(n);

    if (!life) Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1e6)));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(rts));
    NodeContainer ap, stations;
    ap.Create(1); stations.Create(n);
    YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.SetErrorRateModel(error == "yans" ? "ns3::YansErrorRateModel" : "ns3::NistErrorRateModel");
    if (!detect) phy.DisablePreambleDetectionModel();
    WifiHelper wifi;
    std::string data, control = "OfdmRate6Mbps", band = "BAND_5GHZ";
    if (standard == "ac") { wifi.SetStandard(WIFI_STANDARD_80211ac); data = "VhtMcs" + std::to_string(mcs); }
    else if (standard == "n") { wifi.SetStandard(WIFI_STANDARD_80211n); data = "HtMcs" + std::to_string(mcs); }
    else if (standard == "n2") { wifi.SetStandard(WIFI_STANDARD_80211n); data = "HtMcs" + std::to_string(mcs); band = "BAND_2_4GHZ"; control = "ErpOfdmRate6Mbps"; }
    else if (standard == "g") { wifi.SetStandard(WIFI_STANDARD_80211g); data = "ErpOfdmRate" + std::to_string(mcs) + "Mbps"; band = "BAND_2_4GHZ"; control = "ErpOfdmRate6Mbps"; }
    else if (standard == "a") { wifi.SetStandard(WIFI_STANDARD_80211a); data = "OfdmRate" + std::to_string(mcs) + "Mbps"; }
    else { wifi.SetStandard(WIFI_STANDARD_80211b); data = "DsssRate11Mbps"; band = "BAND_2_4GHZ"; control = "DsssRate1Mbps"; }
    if (standard != "b")
        phy.Set("ChannelSettings", StringValue("{0, " + std::to_string(width) + ", " + band + ", 0}"));
    if (standard == "n2" || standard == "n") streams = mcs / 8 + 1;
    if (streams > 1) for (auto what : {"Antennas", "MaxSupportedTxSpatialStreams", "MaxSupportedRxSpatialStreams"}) phy.Set(what, UintegerValue(streams));
    if (standard == "b") data = mcs == 1 ? "DsssRate1Mbps" : mcs == 2 ? "DsssRate2Mbps" : mcs == 5 ? "DsssRate5_5Mbps" : "DsssRate11Mbps";
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(data), "ControlMode", StringValue(control));
    WifiMacHelper mac;
    Ssid ssid("test0");
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "ActiveProbing", BooleanValue(false));
    NetDeviceContainer staDevices = wifi.Install(phy, mac, stations);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid));
    NetDeviceContainer apDevice = wifi.Install(phy, mac, ap);
    NetDeviceContainer all(staDevices, apDevice);
    for (uint32_t i = 0; i < all.GetN(); i++) {
        Ptr<WifiNetDevice> device = DynamicCast<WifiNetDevice>(all.Get(i));
        if (device->GetHtConfiguration()) device->GetHtConfiguration()->SetShortGuardIntervalSupported(shortGuard);
        if (standard == "ac" || standard == "n" || standard == "n2")
            device->GetMac()->SetAttribute("BE_MaxAmpduSize", UintegerValue(aggregate));
        Ptr<WifiMac> m = device->GetMac();
        m->TraceConnectWithoutContext("AckedMpdu", MakeCallback(&Acked));
        device->GetPhy()->TraceConnectWithoutContext("PhyTxPsduBegin", MakeCallback(&Sent));
    }
    wifi.AssignStreams(all, 100);

    ap.Get(0)->AggregateObject(Walk("0,0"));
    for (uint32_t i = 0; i < n; i++) {
        stations.Get(i)->AggregateObject(at[i]);
        Ptr<WifiMac> station = DynamicCast<WifiNetDevice>(staDevices.Get(i))->GetMac();
        station->TraceConnectWithoutContext("Assoc", MakeBoundCallback(&Joined, i));
        station->TraceConnectWithoutContext("DeAssoc", MakeBoundCallback(&Left, i));
    }

    InternetStackHelper stack;
    stack.Install(ap); stack.Install(stations);
    Ipv4AddressHelper address;
    address.SetBase("10.0.0.0", "255.255.252.0");
    Ipv4InterfaceContainer interfaces = address.Assign(all);
    TrafficControlHelper tc;
    tc.Uninstall(all);

    double end = warm + seconds;
    NeighborCacheHelper neighbours;
    neighbours.PopulateNeighborCache();
    for (uint32_t i = 0; i < n; i++) {
        bool up = direction == "up";
        Ptr<Node> from = up ? stations.Get(i) : ap.Get(0), to = up ? ap.Get(0) : stations.Get(i);
        Ipv4Address target = interfaces.GetAddress(up ? n : i);
        double mbps = rate[i < rate.size() ? i : rate.size() - 1];
        UdpClientHelper client(target, 9000 + i);
        client.SetAttribute("MaxPackets", UintegerValue(4000000000u));
        client.SetAttribute("Interval", TimeValue(Seconds(payload * 8 / (mbps * 1e6))));
        client.SetAttribute("PacketSize", UintegerValue(payload));
        ApplicationContainer source = client.Install(from);
        source.Start(Seconds(0.5 + 0.0007 * i)); source.Stop(Seconds(end));
        PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9000 + i));
        ApplicationContainer sinks = sink.Install(to);
        sinks.Start(Seconds(0));
        sinks.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, i));
    }
    Simulator::Stop(Seconds(end));
    double before = Cpu();
    Simulator::Run();
    double cpu = Cpu() - before;
    std::printf("{\"goodput\": [");
    for (uint32_t i = 0; i < n; i++) std::printf("%s%.5f", i ? ", " : "", g_bytes[i] * 8e-6 / seconds);
    std::printf("]");
    if (bin > 0) { Print("joined", g_joined, 1); Print("left", g_left, 1); Print("bins", g_bins, 8e-6 / bin); }
    std::printf(", \"loss\": %.5f, \"cpu_s\": %.4f, \"events\": %llu}\n", g_sent ? 1.0 - double(g_acked) / g_sent : 0.0, cpu,
                (unsigned long long)Simulator::GetEventCount());
    Simulator::Destroy();
}
