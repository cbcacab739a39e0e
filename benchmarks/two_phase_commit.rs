// The search of Stateright's own two-phase commit. `stateright.py` puts the model of the example `2pc.rs` above it.
//
// The arguments are the number of managers and of threads. It prints the distinct states, the generated states and the
// depth, then what Linux says of the process.

fn main() {
    let given: Vec<usize> = std::env::args().skip(1).map(|each| each.parse().unwrap()).collect();
    let model = TwoPhaseSys { rms: 0..given[0] };
    let checker = model.checker().threads(given[1]).spawn_bfs().join();
    checker.assert_properties();
    println!("{} {} {}", checker.unique_state_count(), checker.state_count(), checker.max_depth());
    print!("{}", std::fs::read_to_string("/proc/self/status").unwrap_or_default());
}
