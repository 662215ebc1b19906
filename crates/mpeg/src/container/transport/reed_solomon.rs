//! The outer code RS(204, 188) of EN 300 429, 6.3: sixteen parity bytes behind each packet of 188.

const ROOTS: usize = 16;

/// Powers of the field generator 02 over x^8 + x^4 + x^3 + x^2 + 1, two periods.
const EXP: [u8; 510] = {
    let mut table = [0; 510];
    let mut value = 1u16;
    let mut power = 0;
    while power < 510 {
        table[power] = value as u8;
        value <<= 1;
        if value & 0x100 != 0 {
            value ^= 0x11d;
        }
        power += 1;
    }
    table
};

const LOG: [u8; 256] = {
    let mut table = [0; 256];
    let mut power = 0;
    while power < 255 {
        table[EXP[power] as usize] = power as u8;
        power += 1;
    }
    table
};

const fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 { 0 } else { EXP[LOG[a as usize] as usize + LOG[b as usize] as usize] }
}

/// g(x) = (x + 1)(x + 02)…(x + 02^15) without its leading 1, highest power first.
const GENERATOR: [u8; ROOTS] = {
    let mut polynomial = [0u8; ROOTS + 1]; // lowest power first
    polynomial[0] = 1;
    let mut root = 0;
    while root < ROOTS {
        let mut at = root + 1;
        while at > 0 {
            polynomial[at] = polynomial[at - 1] ^ multiply(polynomial[at], EXP[root]);
            at -= 1;
        }
        polynomial[0] = multiply(polynomial[0], EXP[root]);
        root += 1;
    }
    let mut generator = [0; ROOTS];
    let mut at = 0;
    while at < ROOTS {
        generator[at] = polynomial[ROOTS - 1 - at];
        at += 1;
    }
    generator
};

/// The parity of a packet of 188 bytes.
pub(super) fn parity(packet: &[u8]) -> [u8; ROOTS] {
    let mut rest = [0u8; ROOTS];
    for byte in packet {
        let feedback = byte ^ rest[0];
        rest.rotate_left(1);
        rest[ROOTS - 1] = 0;
        for (cell, factor) in rest.iter_mut().zip(GENERATOR) {
            *cell ^= multiply(feedback, factor);
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_codeword_is_zero_at_every_root() {
        let packet: Vec<u8> = (0..188u32).map(|at| (at * 37 + 71) as u8).collect();
        let word: Vec<u8> = packet.iter().copied().chain(parity(&packet)).collect();
        for root in &EXP[..ROOTS] {
            assert_eq!(word.iter().fold(0, |sum, byte| multiply(sum, *root) ^ byte), 0);
        }
    }
}
