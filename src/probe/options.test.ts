import { expect, test } from 'vitest'
import { proves } from '../../test/proves.ts'
import { ProbeError } from './errors.ts'
import { type ProbeOptions, settingsOf } from './options.ts'

proves('DT-8', 'an answer may take 10 seconds unless another time is given', () => {
  expect(settingsOf({}).timeoutMs).toBe(10_000)
  expect(settingsOf({ timeoutMs: 250 }).timeoutMs).toBe(250)
})

test.each<[string, ProbeOptions, number]>([
  ['nothing is named', {}, 8],
  ['no checks are made', { checks: 'none' }, 8],
  ['a check is named', { checks: ['resume'] }, 32],
  ['a replica is named', { replicas: ['https://example.com/mcp'] }, 32],
  ['a tool is named', { call: { name: 'x' } }, 32],
  ['a number is given', { checks: 'all', maxRequests: 5 }, 5],
])('where %s, at most so many requests are sent', (_, options, maxRequests) => {
  expect(settingsOf(options).maxRequests).toBe(maxRequests)
})

test.each<[object, string]>([
  [{ timeoutMs: 0 }, '"timeoutMs" must be a number of milliseconds from 1 to 2147483647.'],
  [{ listenMs: 2 ** 40 }, '"listenMs"'],
  [{ expireMs: Number.NaN }, '"expireMs"'],
  [{ maxRequests: 3 }, '"maxRequests" must be at least 4.'],
  [{ order: 'fast' }, '"order" must be one of usual, documented, cheap-first.'],
  [{ methods: ['guess'] }, '"methods" must be some of sequential, capabilities, metadata, tools, program.'],
  [{ methods: [] }, '"methods"'],
  [{ checks: ['everything'] }, 'There is no check "everything"; there are era, '],
  [{ checks: 'some' }, 'There is no check "some"'],
  [{ replicas: ['file:///x'] }, 'A replica must be an http(s) URL.'],
  [{ replicas: ['https://ann:secret@example.com/'] }, 'The address of a replica holds a user name or password;'],
  [{ replicas: 'https://example.com/' }, '"replicas" must be a list.'],
  [{ methods: 'sequential' }, '"methods" must be a list.'],
  [{ checks: 7 }, '"checks" must be a list.'],
  [{ timeoutMs: '10' }, '"timeoutMs" must be a number of milliseconds'],
  [{ maxRequests: '9' }, '"maxRequests" must be at least 4.'],
  [{ known: [{ match: '', state: 'STATEFUL' }] }, 'The known servers must be a list of { "match": a text, '],
  [{ known: { match: 'x', state: 'STATEFUL' } }, 'The known servers must be a list of '],
  [{ known: [{ match: 'x', state: 'STATEFUL', confidence: Number.NaN }] }, 'The known servers '],
  [{ call: 'ping' }, '"call" must have the name of a tool, '],
  [{ call: { name: 'ping', arguments: [] } }, '"call" must have the name of a tool, '],
  [{ clock: 7 }, '"clock" must be a function.'],
])('%j is refused with what to do', (options, message) => {
  const settled = (): unknown => settingsOf(options)
  expect(settled).toThrow(ProbeError)
  expect(settled).toThrow(message)
})
