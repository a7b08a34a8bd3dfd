import { createHash } from 'node:crypto'

/** One name for several texts. No two lists of texts have the same, also where UTF-8 would confuse them. */
export function digest(...texts: readonly string[]): Buffer {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text.length} `).update(Buffer.from(text, 'utf16le'))
  return hash.digest()
}
