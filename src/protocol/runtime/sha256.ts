/**
 * SHA-256 (FIPS 180-4) for runtimes where only WebCrypto has it, which answers with a promise. The input is not secret.
 */

const BLOCK_BYTES = 64

/** The first `count` primes. */
function primes(count: number): number[] {
  const found: number[] = []
  for (let candidate = 2; found.length < count; candidate++)
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate)
  return found
}

/** The first 32 bits of the fraction of a root. */
const fraction = (root: number): number => ((root % 1) * 2 ** 32) | 0

const FIRST = primes(8).map((prime) => fraction(Math.sqrt(prime)))
const ROUNDS = primes(BLOCK_BYTES).map((prime) => fraction(Math.cbrt(prime)))

const rotated = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))

export function digestOfBytes(data: Uint8Array): Uint8Array<ArrayBuffer> {
  const state = Int32Array.from(FIRST)
  const padded = withLength(data)
  const words = new Int32Array(BLOCK_BYTES)
  for (let at = 0; at < padded.byteLength; at += BLOCK_BYTES) addBlock(state, words, padded, at)
  const digest = new DataView(new ArrayBuffer(32))
  for (const [index, word] of state.entries()) digest.setInt32(index * 4, word)
  return new Uint8Array(digest.buffer)
}

/** The data, a one, zeros to the end of a block, and the number of bits. */
function withLength(data: Uint8Array): DataView {
  const length = Math.ceil((data.length + 9) / BLOCK_BYTES) * BLOCK_BYTES
  const padded = new Uint8Array(length)
  padded.set(data)
  padded[data.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setBigUint64(length - 8, BigInt(data.length) * 8n)
  return view
}

function addBlock(state: Int32Array, words: Int32Array, padded: DataView, at: number): void {
  const word = (index: number): number => words[index] ?? 0
  for (let index = 0; index < 16; index++) words[index] = padded.getInt32(at + index * 4)
  for (let index = 16; index < words.length; index++) {
    const [early, late] = [word(index - 15), word(index - 2)]
    const small = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3)
    const large = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10)
    words[index] = word(index - 16) + small + word(index - 7) + large
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let index = 0; index < words.length; index++) {
    const choice = (e & f) ^ (~e & g)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const high =
      (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + (ROUNDS[index] ?? 0) + word(index)) | 0
    const low = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + high) | 0, c, b, a, (high + low) | 0]
  }
  for (const [index, added] of [a, b, c, d, e, f, g, h].entries()) state[index] = (state[index] ?? 0) + added
}
