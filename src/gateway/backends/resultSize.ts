/** Whether a result is too large, without writing it where it is far from that. */
import type { Json } from '../../protocol/index.ts'

/** No character takes more bytes in JSON: `\u0000`. */
const CHAR_BYTES = 6
/** The most that any other value takes, with what stands around it: `-1.7976931348623157e+308,`. */
const VALUE_BYTES = 32

export function isLarger(result: Json, maxBytes: number): boolean {
  return atMost(result) > maxBytes && Buffer.byteLength(JSON.stringify(result)) > maxBytes
}

/** At least as many bytes as it takes in JSON. Goes by lengths, so that long texts cost nothing. */
function atMost(result: Json): number {
  const open: unknown[] = [result]
  let bytes = 0
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    bytes += VALUE_BYTES
    if (typeof value === 'string') bytes += value.length * CHAR_BYTES
    else if (Array.isArray(value)) for (const each of value) open.push(each)
    else if (typeof value === 'object' && value !== null)
      for (const [name, each] of Object.entries(value)) {
        bytes += name.length * CHAR_BYTES
        open.push(each)
      }
  }
  return bytes
}
