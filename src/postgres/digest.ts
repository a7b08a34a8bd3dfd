import { createHash } from 'node:crypto'

/** One SHA-256 for several strings. The lengths and UTF-16 distinguish different lists, also with lone surrogates. */
export function digest(...texts: readonly string[]): Buffer {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text.length} `).update(Buffer.from(text, 'utf16le'))
  return hash.digest()
}
