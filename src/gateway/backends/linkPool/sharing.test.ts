import { describe, expect, test } from 'vitest'
import type { Verdict } from '../../../probe/index.ts'
import { isStateful, type JudgedServer, mayShareLinks } from './sharing.ts'

const HTTP = { url: 'http://127.0.0.1:1/mcp' }
const STDIO = { command: 'server' }

function verdictOf(state: Verdict['state'], decidedBy: string): JudgedServer['verdict'] {
  return { state, process: { state, decidedBy } as unknown as Verdict['process'] }
}

const WITNESSED = verdictOf('STATELESS', 'witness')
const GUESSED = verdictOf('STATELESS', 'tools')
const STATEFUL = verdictOf('STATEFUL', 'sequential')

type Case = [
  what: string,
  server: {
    state?: 'auto' | 'stateless' | 'stateful'
    address: object
    verdict?: object | undefined
    hasSession?: boolean
  },
  expected: { stateful: boolean; shared: boolean },
]

const CASES: Case[] = [
  ['an address that was not reached', { address: HTTP }, { stateful: false, shared: false }],
  ['an address without a session', { address: HTTP, hasSession: false }, { stateful: false, shared: true }],
  ['an address with a session', { address: HTTP, hasSession: true }, { stateful: false, shared: false }],
  ['a stateful address', { address: HTTP, hasSession: false, verdict: STATEFUL }, { stateful: true, shared: false }],
  ['a process without a verdict', { address: STDIO, hasSession: false }, { stateful: false, shared: false }],
  ['a process known to keep nothing', { address: STDIO, verdict: WITNESSED }, { stateful: false, shared: true }],
  ['a process guessed to keep nothing', { address: STDIO, verdict: GUESSED }, { stateful: false, shared: false }],
  [
    'an entry that says stateless',
    { state: 'stateless', address: STDIO, verdict: STATEFUL },
    { stateful: false, shared: true },
  ],
  [
    'an entry that says stateful',
    { state: 'stateful', address: HTTP, hasSession: false },
    { stateful: true, shared: false },
  ],
]

describe('who may share a link', () => {
  test.each(CASES)('%s', (_, { state = 'auto', address, verdict, hasSession }, { stateful, shared }) => {
    const server = {
      config: { address, settings: { state } },
      verdict,
      link: hasSession === undefined ? undefined : { hasSession },
    } as unknown as JudgedServer
    expect({ stateful: isStateful(server), shared: mayShareLinks(server) }).toEqual({ stateful, shared })
  })
})
