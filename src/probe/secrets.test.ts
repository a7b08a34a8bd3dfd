import { expect, test } from 'vitest'
import { REPORT_WORDS } from './report/report.ts'
import { secretsOf } from './secrets.ts'

const http = { url: 'https://example.com/mcp?key=query-secret&v=1' }

test.each([
  ['Bearer abc.def-123', 'you sent abc.def-123!', 'you sent [hidden]!'],
  ['Bearer abc.def-123', 'Authorization: Bearer abc.def-123', 'Authorization: [hidden]'],
  ['with "quotes" in it', JSON.stringify({ echo: 'with "quotes" in it' }), '{"echo":"[hidden]"}'],
  ['a b/c?', 'x=a%20b%2Fc%3F', 'x=[hidden]'],
  [`Basic ${btoa('ann:pass-word')}`, 'user ann with pass-word', 'user ann with [hidden]'],
  ['http', 'http is too short to be told from words', 'http is too short to be told from words'],
])('a header %s does not show in %s', (value, said, shown) => {
  expect(secretsOf(http, { headers: [{ authorization: value }] }).hide(said)).toBe(shown)
})

test('the query of an address does not show', () => {
  expect(secretsOf(http, {}).hide('bad key query-secret')).toBe('bad key [hidden]')
})

test('of an environment, what is called a secret does not show', () => {
  const env = { API_KEY: 'env-secret', HOME: '/home/ann', DB_PASSWORD: 'hunter22' }
  const secrets = secretsOf({ command: 'x', args: [], env }, {})
  expect(secrets.hide('env-secret in /home/ann, hunter22')).toBe('[hidden] in /home/ann, [hidden]')
})

test.each([
  [
    'a query without names',
    { url: 'https://example.com/mcp?lone-secret' },
    'Cannot POST /mcp?lone-secret',
    'lone-secret',
  ],
  [
    'a long piece of a path',
    { url: `https://example.com/u/${'k'.repeat(30)}/mcp` },
    `/u/${'k'.repeat(30)}/mcp`,
    'kkkk',
  ],
  ['an option', { command: 'x', args: ['--api-key', 'arg-secret'] }, 'bad arg-secret', 'arg-secret'],
  ['an option in one', { command: 'x', args: ['--token=arg-secret'] }, 'bad arg-secret', 'arg-secret'],
  ['a variable for docker', { command: 'x', args: ['-e', 'API_KEY=arg-secret'] }, 'bad arg-secret', 'arg-secret'],
  ['an address', { command: 'x', args: ['postgres://ann:db-secret@host/db'] }, 'ann:db-secret@host', 'db-secret'],
  ['a variable', { command: 'x', args: [], env: { URL: 'redis://:db-secret@host' } }, '//:db-secret@', 'db-secret'],
] as const)('what is secret in %s does not show', (_, address, said, secret) => {
  const shown = secretsOf(address, {}).hide(said)
  expect(shown).toContain('[hidden]')
  expect(shown).not.toContain(secret)
})

test('the words of a verdict are no secrets, whatever was given', () => {
  const values = [
    'session',
    'initialize',
    'legacy',
    'STATELESS',
    'sequential',
    'session-issued',
    '2025-06-18',
    'nothing',
  ]
  const env = Object.fromEntries(values.map((value, n) => [`AUTH_${n}`, value]))
  const secrets = secretsOf(
    { command: 'x', args: [], env },
    { headers: [{ a: 'Bearer session' }], publicWords: REPORT_WORDS },
  )
  for (const value of values) expect(secrets.hide(`so ${value} it is`)).toBe(`so ${value} it is`)
})

test('the queries of replicas do not show either, nor what lies in lists and objects', () => {
  const secrets = secretsOf(http, { urls: [new URL('https://example.com/?key=other-secret')] })
  const told = { a: ['other-secret', 1, null], b: { c: 'x other-secret' } }
  expect(secrets.hideIn(told)).toEqual({ a: ['[hidden]', 1, null], b: { c: 'x [hidden]' } })
})

test('of two secrets, one in the other, nothing is left', () => {
  const secrets = secretsOf(http, { headers: [{ a: 'secret' }, { b: 'secret-longer' }] })
  expect(secrets.hide('secret-longer')).toBe('[hidden]')
})
