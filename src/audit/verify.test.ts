import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createHash } from 'node:crypto'
import { createKeyring, newKey } from '../state/seal/index.ts'
import { AuditChain } from './chain.ts'
import { AuditVerifier, type VerifiedAudit } from './verify.ts'

const keys = [newKey(), newKey()] as const
const keyring = createKeyring(keys[0])
const call = (id: number) =>
  ({ kind: 'call', id, method: 'tools/call', route: '/mcp', server: 's', outcome: 'complete', ms: 1 }) as const

/** A head, ten calls with a head in the middle, and the head of the end. */
function log(instance = 'a', ring = keyring): string[] {
  const chain = new AuditChain(instance, ring, () => 0)
  const calls = (from: number): string[] => Array.from({ length: 5 }, (_, at) => chain.line(call(from + at)))
  return [chain.head(), ...calls(0), chain.head(), ...calls(5), chain.head({ closed: true })]
}

/** A text with its digest, as anybody can write it. */
function digested(open: string): string {
  return `${open},"digest":"${createHash('sha256').update(open).digest('base64url')}"}`
}

function verified(lines: readonly string[], ring: typeof keyring | undefined = keyring): VerifiedAudit {
  const verifier = new AuditVerifier(ring)
  lines.forEach((line, at) => verifier.read(line, 'log', at + 1))
  return verifier.result
}

test('a whole log has no fault, and neither have two whose lines alternate', () => {
  expect(verified(log())).toEqual({ entries: 10, faults: [], unsigned: [] })
  const [one, two] = [log('a'), log('b')]
  expect(verified(one.flatMap((line, at) => [line, two[at] ?? '']))).toMatchObject({ entries: 20, faults: [] })
})

describe.each<[string, (lines: string[]) => string[], number, RegExp]>([
  ['a line that was changed', (lines) => lines.with(3, lines[3]?.replace('"id":2', '"id":9') ?? ''), 4, /was changed/],
  ['a line that was left out', (lines) => lines.toSpliced(3, 1), 4, /A line is missing/],
  ['several lines that were left out', (lines) => lines.toSpliced(3, 3), 4, /3 lines are missing/],
  ['the first lines left out', (lines) => lines.slice(2), 1, /Lines are missing before this one/],
  ['a line that was moved up', (lines) => lines.toSpliced(5, 1).toSpliced(2, 0, lines[5] ?? ''), 3, /missing/],
  ['a line that was repeated', (lines) => lines.toSpliced(4, 0, lines[3] ?? ''), 5, /moved or repeated/],
  ['a line after the end', (lines) => [...lines, lines[3] ?? ''], 14, /after the end/],
  ['a log that was written again with other keys', () => log('a', createKeyring(keys[1])), 1, /not signed/],
  ['text that is no line', (lines) => lines.with(4, '{}'), 5, /was changed/],
  ['a line with a digest that is no JSON', (lines) => lines.with(4, digested('{"seq":')), 5, /was changed/],
])('%s', (_, tamper, line, sentence) => {
  test('is found at its line', () => {
    const [first] = verified(tamper(log())).faults
    expect(first).toEqual({ file: 'log', line, sentence: expect.stringMatching(sentence) as string })
  })
})

test('any change of any character is found', () => {
  const text = log().join('\n')
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.constantFrom('0', 'x', ' '), (at, put) => {
      fc.pre(text[at] !== put && text[at] !== '\n')
      const lines = `${text.slice(0, at)}${put}${text.slice(at + 1)}`.split('\n')
      expect(verified(lines).faults).not.toEqual([])
    }),
    { numRuns: 300 },
  )
})

test('lines that were cut off at the end leave a log that is not closed', () => {
  expect(verified(log().slice(0, -3))).toMatchObject({ faults: [], unsigned: [{ instance: 'a', entries: 3 }] })
})

test('retired keys verify what they signed, and without keys the order is verified', () => {
  expect(verified(log(), createKeyring(`${keys[1]},${keys[0]}`)).faults).toEqual([])
  const others = log('a', createKeyring(keys[1]))
  const verifier = new AuditVerifier(undefined)
  others.toSpliced(3, 1).forEach((line, at) => verifier.read(line, 'log', at + 1))
  expect(verifier.result.faults).toHaveLength(1)
})
