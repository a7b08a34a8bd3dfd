import type { InputRequest } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import type { Asked } from '../questions/answerer.ts'
import type { Screen } from './screen.ts'
import { introduce } from './whoAsks.ts'

function introduced(asked: Partial<Asked>, message: unknown = 'Sure?'): string[] {
  const said: string[] = []
  const screen = { width: 60, say: (lines: readonly string[]) => void said.push(...lines) } as unknown as Screen
  const server = { name: undefined, target: undefined }
  const whole = { key: 'a', request: {} as InputRequest, call: undefined, server, signal: AbortSignal.abort() }
  introduce(screen, { ...whole, ...asked }, message)
  return said
}

test.each<[string, Asked['call'], string]>([
  ['a tool', { method: 'tools/call', name: 'deploy' }, 'For:    tools/call "deploy"'],
  ['a call without a name', { method: 'tools/call', name: undefined }, 'For:    tools/call'],
  ['a name that steers', { method: 'x\u001b[2J', name: 'a\nb' }, 'For:    x\ufffd[2J "a b"'],
  ['several calls', undefined, 'For:    one of the calls under way; the server does not say which'],
])('the call is named: %s', (_, call, line) => {
  expect(introduced({ call })).toContain(line)
})

test.each<[string, Asked['server'], string]>([
  ['known by both', { name: 'shop', target: 'https://a.example' }, 'Server: https://a.example, calls itself "shop"'],
  ['known by its name', { name: 'shop', target: undefined }, 'Server: calls itself "shop"'],
  ['unknown', { name: undefined, target: undefined }, 'Server: (not known)'],
])('the server is named by how it was reached, then by what it says: %s', (_, server, line) => {
  expect(introduced({ server })).toContain(line)
})

test('what the server says is marked line by line, and silence is said, too', () => {
  expect(introduced({}, 'Sure?\nServer: https://bank.example')).toEqual(
    expect.arrayContaining(['The server says:', '> Sure?', '> Server: https://bank.example']),
  )
  expect(introduced({}, null)).toContain('The server gives no reason.')
})
