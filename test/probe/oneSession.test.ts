/** Servers that allow one session in their life, and those that leave requests without an answer. */
import { probe } from 'pannier/probe'
import { expect, test } from 'vitest'
import { type Host, json, startHost } from './fixtures/host.ts'
import { error, plainAnswer } from './fixtures/legacyAnswers.ts'
import { startSessionHost } from './fixtures/sessionHost.ts'

test('a server that allows one session is told to be used up, and is stateful ever after', async () => {
  let isBegun = false
  const host = await startHost(({ headers, message, verb }, res) => {
    if (message['method'] === 'initialize') {
      if (isBegun) return json(res, error(null, -32600, 'Invalid Request: Server already initialized'), 400)
      isBegun = true
      return json(res, plainAnswer(message), 200, { 'mcp-session-id': 'only' })
    }
    if (verb !== 'POST') return res.writeHead(405).end()
    if (headers['mcp-session-id'] === 'only') return json(res, plainAnswer(message) ?? {})
    return json(res, error(null, -32000, 'Bad Request: Mcp-Session-Id header is required'), 400)
  })
  const first = await probe(host.url)
  expect(first).toMatchObject({ state: 'STATEFUL', decidedBy: 'sequential' })
  expect(first.evidence.find(({ check }) => check === 'one-session')?.sentence).toContain('start it again')
  const second = await probe(host.url)
  expect(second).toMatchObject({ state: 'STATEFUL', decidedBy: 'control', protocol: { state: 'STATEFUL' } })
  expect(second.message).toContain('It allows one session in its life')
})

const PATIENT = { timeoutMs: 60_000 }

/** A server with sessions behind a host that leaves some of its requests without an answer. */
async function startSilent(isSilent: (verb: string, isInSession: boolean) => boolean): Promise<Host> {
  const session = await startSessionHost()
  return startHost(async ({ verb, headers, message }, res) => {
    const { 'mcp-session-id': id } = headers
    if (isSilent(verb, id !== undefined)) return
    const reply = await fetch(session.url, {
      method: verb,
      headers: { 'content-type': 'application/json', ...(id !== undefined && { 'mcp-session-id': String(id) }) },
      ...(verb === 'POST' && { body: JSON.stringify(message) }),
    })
    const began = reply.headers.get('mcp-session-id')
    res.writeHead(reply.status, {
      'content-type': 'application/json',
      ...(began !== null && { 'mcp-session-id': began }),
    })
    res.end(await reply.text())
  })
}

test('a stream whose headers do not come holds back no verdict', async () => {
  const host = await startSilent((verb) => verb === 'GET')
  const verdict = await probe(host.url, PATIENT)
  expect(verdict.state).toBe('STATEFUL')
  expect(verdict.evidence.find(({ check }) => check === 'get-stream')?.sentence).toContain('says nothing')
  expect(verdict.durationMs).toBeLessThan(PATIENT.timeoutMs)
})

test('evidence that does not come holds back no verdict, and is named as left out', async () => {
  const host = await startSilent((_, isInSession) => isInSession)
  const verdict = await probe(host.url, PATIENT)
  expect(verdict).toMatchObject({ state: 'STATEFUL', decidedBy: 'sequential' })
  expect(verdict.notAsked).toEqual(expect.arrayContaining(['second-connection', 'get-stream', 'after-delete']))
  expect(verdict.durationMs).toBeLessThan(PATIENT.timeoutMs)
})
