/** How large minimal servers for Workers are. `npm run sizes -- --accept` accepts what they are now. */
import { expect, test } from 'vitest'
import { bundle, type ProgramName } from '../../scripts/sizes/bundles.ts'
import accepted from './sizes.json' with { type: 'json' }

/** Small changes do not need to be accepted. */
const TOLERANCE = 1.01

/** In a bundle for Workers none of these has a place, whatever the program does. */
const NEVER =
  /^(ajv|acorn|pino|tldts|undici|jose|commander|@clack)|^src\/(client|gateway|cli|postgres|tasks|server\/(questions|stdio))/

type Sizes = Readonly<Record<string, { readonly gzip: number; readonly parts: Readonly<Record<string, number>> }>>

test.each(Object.keys(accepted) as ProgramName[])('a minimal server (%s) is as small as it was', async (program) => {
  const before = (accepted as Sizes)[program]
  const now = await bundle(program)
  expect(Object.keys(now.parts).filter((part) => NEVER.test(part))).toEqual([])
  const grown = Object.entries(now.parts)
    .filter(([part, bytes]) => bytes > (before?.parts[part] ?? 0))
    .map(([part, bytes]) => `${part}: ${before?.parts[part] ?? 0} -> ${bytes} bytes`)
  const isLarger = now.gzip > (before?.gzip ?? 0) * TOLERANCE
  expect(isLarger ? [`gzip: ${before?.gzip} -> ${now.gzip} bytes`, ...grown] : []).toEqual([])
})

test.each([
  ['Pannier, zod', 1.4],
  ['Pannier without sessions, zod', 1],
] as const)('a minimal server (%s) is at most %d of one of the official SDK', async (program, most) => {
  const [ours, theirs] = await Promise.all([bundle(program), bundle('SDK v2, zod')])
  expect(ours.gzip / theirs.gzip).toBeLessThan(most)
})

test('a server without sessions and zod has at most 55 kB', async () => {
  const { gzip } = await bundle('Pannier without sessions, JSON Schema')
  expect(gzip).toBeLessThanOrEqual(55_000)
})
