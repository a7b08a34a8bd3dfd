import { describe, expect, test } from 'vitest'
import { EchoStates, MAX_CHARS, MAX_STATES, withTopDeclared } from './states.ts'

const request = (id: number | string, state?: string) =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'roots/list', ...(state !== undefined && { state }) })
const response = (id: number | string) => JSON.stringify({ jsonrpc: '2.0', id, result: {} })

/** The state that a response to this id would carry. */
const carried = (states: EchoStates, id: number | string): unknown =>
  (JSON.parse(states.outgoing(response(id)).text) as { state?: unknown }).state

describe('states', () => {
  test('are kept by the thousand, and the oldest goes first', () => {
    const states = new EchoStates()
    for (let id = 0; id < MAX_STATES; id++) states.incoming(request(id, `s${id}`))
    expect(carried(states, 0)).toBe('s0')
    states.incoming(request(MAX_STATES, 'last'))
    expect([carried(states, 0), carried(states, 1), carried(states, MAX_STATES)]).toEqual([undefined, 's1', 'last'])
  })

  test('have so many characters together, to the one', () => {
    const states = new EchoStates()
    const half = 'x'.repeat(MAX_CHARS / 2 - 2) // the quotes count
    states.incoming(request('a', half))
    states.incoming(request('b', half))
    expect(carried(states, 'a')).toBe(half)
    states.incoming(request('c', ''))
    expect([carried(states, 'a'), carried(states, 'b'), carried(states, 'c')]).toEqual([undefined, half, ''])
  })

  test('make room again when they are sent or cancelled', () => {
    const states = new EchoStates()
    const half = 'x'.repeat(MAX_CHARS / 2 - 2)
    for (const id of ['a', 'b']) states.incoming(request(id, half))
    states.outgoing(response('a')).settle()
    states.incoming(request('c', half))
    expect([carried(states, 'b'), carried(states, 'c')]).toEqual([half, half])
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'b' } }
    states.incoming(JSON.stringify(cancelled))
    expect([carried(states, 'b'), states.isEmpty]).toEqual([undefined, false])
    states.incoming(request('c'))
    expect(states.isEmpty).toBe(true)
  })

  test('are told by the key of their question, and stay until the response was sent', () => {
    const states = new EchoStates()
    const asked: string[] = []
    const text = states.incoming(request(1, 's'), 'channel', (key) => void asked.push(key))
    expect([JSON.parse(text), asked]).toEqual([{ jsonrpc: '2.0', id: 1, method: 'roots/list' }, ['channel 1']])
    expect(states.outgoing(response(1)).key).toBeUndefined()
    const { key, settle } = states.outgoing(response(1), 'channel')
    expect([key, states.isEmpty]).toEqual(['channel 1', false])
    settle()
    expect(states.isEmpty).toBe(true)
  })

  test('leave what has none as it is', () => {
    const states = new EchoStates()
    for (const text of ['no JSON "state"', request(1), response(1)]) {
      expect([states.incoming(text), states.outgoing(text).text, states.isEmpty]).toEqual([text, text, true])
    }
    states.incoming(request(1, 's'))
    expect(states.outgoing(request(1)).text).toBe(request(1)) // a request of the client, not a response
  })
})

test('only the first message of a session declares where a state may stand', () => {
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { capabilities: {} } }
  const declared = JSON.parse(withTopDeclared(JSON.stringify(initialize))) as typeof initialize
  expect(declared.params.capabilities).toEqual({ experimental: { 'dev.pannier/state-echo': { at: ['top'] } } })
  const other = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'initialize' } })
  expect(withTopDeclared(other)).toBe(other)
})
