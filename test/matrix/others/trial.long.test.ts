import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type FateCount, sumOf } from './counts.ts'
import type { OtherGateway } from './gateways.ts'
import { tryGateway } from './trial.ts'

const program = fileURLToPath(new URL('../programs/reverseProxy.ts', import.meta.url))
const limits = { timeoutMs: 2000, hungAfterMs: 10_000, isPolite: true } as const
const behaviours = ['a plain call', 'one elicitation', 'errors']

/** A proxy that knows nothing of the protocol. */
function proxy(mode: string): OtherGateway {
  return {
    name: mode,
    says: 'passes requests on',
    pairs: [['v1', 'v1']],
    claims: ({ behaviour }) => behaviour !== 'errors',
    command: {
      command: process.execPath,
      args: ['--conditions=pannier-source', program, 'PORT', 'URL', mode],
      env: {
        NODE_OPTIONS: process.env['NODE_OPTIONS'] ?? '',
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
      },
      prefix: '',
    },
  }
}

/** Each call ends in one of these ways. */
function endsIn({ right, told, silent, bystander, wrong }: FateCount): number {
  return right + told + silent + bystander + wrong
}

test('a gateway of others that passes all on works with one and with two, and its kills are counted by what callers got', async () => {
  const trial = await tryGateway(proxy('faithful'), { kills: 6, minutes: 1, fleets: 1, limits, behaviours })
  expect(trial.cells).toEqual({
    'v1 → v1, a plain call': '',
    'v1 → v1, one elicitation': '',
    'v1 → v1, errors': '',
  })
  expect(trial.claimed).toEqual(['v1 → v1, a plain call', 'v1 → v1, one elicitation'])
  expect(trial.two).toEqual({ 'v1 → v1, a plain call': '', 'v1 → v1, errors': '' })
  const sum = sumOf(trial)
  expect(Object.keys(trial.kills).toSorted()).toEqual(['client', 'holder', 'later', 'server'])
  expect(sum.kills).toBeGreaterThan(3) // a run may have fewer messages than the one before
  // Of two callers, but for a client that was killed. A broken stream may be silent until the time limit.
  expect(endsIn(sum)).toBe(sum.kills * 2 - (trial.kills['client']?.kills ?? 0))
  expect([sum.wrong, sum.bystander, sum.doubled, sum.crossed, trial.left]).toEqual([0, 0, 0, 0, 0])
}, 120_000)

test('a gateway of others that sends calls twice, or keeps answers for itself, is found out', async () => {
  const [doubling, swallowing] = await Promise.all(
    ['doubling', 'swallowing'].map((mode) =>
      tryGateway(proxy(mode), { kills: 3, minutes: 1, fleets: 1, limits, behaviours: ['a plain call'] }),
    ),
  )
  expect(doubling?.cells['v1 → v1, a plain call']).toMatch(/^doubled: /)
  expect(swallowing?.cells['v1 → v1, a plain call']).toMatch(/^silent: .*timed out/)
  // Nothing is killed where it does not work by itself.
  expect([doubling?.kills, swallowing?.kills]).toEqual([{}, {}])
}, 120_000)
