/** How much the probe asks, and how long it takes when nobody keeps it waiting. */
import { CHECKS, probe, type Verdict } from 'pannier/probe'
import { expect, test } from 'vitest'
import { startHere } from '../interop/fixtures/instances.ts'
import { type Host, json, startHost } from './fixtures/host.ts'
import { plainAnswer } from './fixtures/legacyAnswers.ts'
import { startSessionHost } from './fixtures/sessionHost.ts'

const EVERYTHING = { tools: {}, prompts: {}, resources: {}, logging: {} }

const SERVERS: readonly (readonly [name: string, start: () => Promise<Pick<Host, 'url'>>, requests: number])[] = [
  ['that keeps nothing', () => startHost(({ message }, res) => json(res, plainAnswer(message, EVERYTHING))), 7],
  ['with sessions', () => startSessionHost({ capabilities: EVERYTHING }), 8],
  ['with sessions and streams', () => startSessionHost({ capabilities: EVERYTHING, streams: true, news: [] }), 8],
  [
    'whose errors need a control',
    () => startSessionHost({ capabilities: EVERYTHING, refuse: (_, res) => res.writeHead(400).end() }),
    8,
  ],
  ['of ours, with both eras', async () => startHere(), 6],
]

test.each(SERVERS)('a server %s gets at most 8 requests', async (_, start, requests) => {
  const { url } = await start()
  const verdict = await probe(url)
  expect(verdict.requests).toBe(requests)
  expect(verdict.requests).toBeLessThanOrEqual(8)
})

test('the count of requests is what the server has seen', async () => {
  const host = await startSessionHost()
  expect((await probe(host.url)).requests).toBe(host.seen.length)
})

test.each(SERVERS)('a server %s is judged in less than 300 ms', async (_, start) => {
  const { url } = await start()
  let fastest = Number.POSITIVE_INFINITY
  // Others use this machine, so the best of a few counts.
  for (let attempt = 0; attempt < 10 && fastest >= 300; attempt++) {
    fastest = Math.min(fastest, (await probe(url)).durationMs)
  }
  expect(fastest).toBeLessThan(300)
})

test('what there were no requests left for is named, and asked for when it is named', async () => {
  const host = await startSessionHost({ capabilities: EVERYTHING })
  const few = await probe(host.url)
  expect(few.notAsked).toEqual(['bare-prompts', 'bare-resources', 'invented-session'])
  const more = await probe(host.url, { checks: few.notAsked })
  expect(few.notAsked.every((name) => more.evidence.some(({ check }) => check === name))).toBe(true)
  expect(more.notAsked).toEqual([])
})

test('every piece of evidence has a name from the list', async () => {
  const host = await startSessionHost({ capabilities: EVERYTHING, streams: true, news: [] })
  const { evidence } = await probe(host.url, { checks: 'all', call: { name: 'a' }, replicas: [host.url] })
  expect(evidence.length).toBeGreaterThan(10)
  for (const { check } of evidence) expect(CHECKS).toContain(check)
})

test('two runs give the same verdict for the same reasons', async () => {
  for (const [, start] of SERVERS) {
    const { url } = await start()
    const [first, second] = [await probe(url), await probe(url)].map(comparable)
    expect(first).toEqual(second)
  }
})

function comparable(verdict: Verdict): Verdict {
  return { ...verdict, durationMs: 0, checkedAt: 0 }
}
