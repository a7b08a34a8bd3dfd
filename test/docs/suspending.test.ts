import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { connect, folders, type Notice, readSaved, resume, type SavedCall, suspend, suspendedOf } from 'pannier/client'
import { createServer } from 'pannier/server'
import { newKey } from 'pannier/state'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  goOn,
  goOnByFile,
  goOnWith,
  logLine,
  openClient,
  order,
  orderByFile,
  orderFrom,
  patientServer,
  questionsIn,
} from '../../docs/snippets/suspending.ts'
import { readText } from '../../scripts/repository.ts'
import { quickStart } from '../bundle/environment.ts'
import { offerOrder, size } from './fixtures/orderTool.ts'
import { sessionServer } from './fixtures/sessionServer.ts'

process.env['PANNIER_LOG_LEVEL'] = 'silent'
const DAY_MS = 86_400_000
const keys = newKey()
const said = (text: string) => ({ done: expect.objectContaining({ content: [{ type: 'text', text }] }) })
const large = { size: { size: 'large' } }
const sure = { confirm: { sure: true } }

/** A new instance each time, `days` from now. */
async function shop(days = 0, port = 0): Promise<{ url: string; port: number; stop(): Promise<void> }> {
  const server = offerOrder(patientServer({ keys, clock: () => Date.now() + days * DAY_MS }))
  const { url } = await server.listen({ port })
  const stop = () => server.drain({ deadlineMs: 0 })
  onTestFinished(() => void stop())
  return { url, port: Number(new URL(url).port), stop }
}

function command(program: string): [string, string[]] {
  const path = fileURLToPath(new URL(`programs/${program}`, import.meta.url))
  return [process.execPath, ['--conditions=pannier-source', path]]
}

const stdioShop = command('shop.ts')

const savedIn = (outcome: object): string => {
  if (!('waiting' in outcome)) throw new Error(`The call does not wait: ${JSON.stringify(outcome)}`)
  return String(outcome.waiting)
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('docs/snippets/suspending.ts', () => {
  test('a call waits twice, for ten days each time, and is finished by another process', async () => {
    const first = await shop()
    const waiting = savedIn(await order('hat', first.url))
    await first.stop()
    const second = await shop(10, first.port)
    const again = savedIn(await goOn(waiting, large))
    expect(Object.keys(readSaved(again).inputRequests)).toEqual(['confirm'])
    await second.stop()
    await shop(20, first.port)
    expect(await inAnotherProcess(again, sure)).toEqual(said('Ordered a large hat.'))
  })

  test('a call that waits longer than its server allows is refused', async () => {
    const first = await shop()
    const waiting = savedIn(await order('hat', first.url))
    await first.stop()
    await shop(15, first.port)
    await expect(goOn(waiting, large)).rejects.toMatchObject({ code: -32602 })
  })

  test('a server that is started as a process goes on in new ones with the keys it is given again', async () => {
    const env = { ...quickStart, PANNIER_KEYS: keys, PANNIER_LOG_LEVEL: 'silent' }
    const waiting = savedIn(await orderFrom('hat', ...stdioShop, env))
    expect(waiting).not.toContain(keys)
    const again = savedIn(await goOnWith(waiting, large, env))
    expect(await goOnWith(again, sure, env)).toEqual(said('Ordered a large hat.'))
    await expect(goOn(waiting, large)).rejects.toMatchObject({ code: -32602 })
  })

  test('the whole result of a suspended call holds its secrets, and the line for a log does not', async () => {
    const client = await openClient((await shop()).url)
    onTestFinished(() => client.close())
    const result = await client.callTool({ name: 'order', arguments: { item: 'hat' } })
    const { saved } = suspendedOf(result)!
    const line = logLine(result)
    expect(line).toBe('tools/call at shop waits for: size')
    for (const secret of [saved.requestState!, 'hat']) {
      expect(JSON.stringify(result)).toContain(secret)
      expect(line).not.toContain(secret)
    }
    expect(logLine({ content: [] })).toBe('The call is done.')
  })

  test('the saved form is the one of the guide', async () => {
    const { url } = await shop()
    const saved = JSON.parse(savedIn(await order('hat', `${url}?tenant=7`))) as SavedCall
    const [, shown = '{}'] = /```json\n([^]*?)```/.exec(readText('docs/reference/saved-call.md')) ?? []
    const guide = JSON.parse(shown) as SavedCall
    expect(Object.keys(saved)).toEqual(Object.keys(guide))
    const own = { savedAt: expect.any(String), target: `${url}?tenant=7`, requestState: expect.any(String) }
    expect(saved).toEqual({ ...guide, ...own })
    expect(questionsIn(saved)).toEqual([{ key: 'size', from: `${url}?tenant=7`, message: 'Which size?' }])
  })

  test('answers that miss, do not fit or were not asked for send nothing; the call goes on with better ones', async () => {
    const { url } = await shop()
    const waiting = savedIn(await order('hat', url))
    await expect(goOn(waiting, {})).rejects.toMatchObject({ code: 'QUESTION_UNANSWERED' })
    await expect(goOn(waiting, { size: { size: 'huge' } })).rejects.toMatchObject({ code: 'RESPONSE_INVALID' })
    await expect(goOn(waiting, { ...large, colour: {} })).rejects.toMatchObject({ code: 'QUESTION_UNANSWERED' })
    expect(await goOn(savedIn(await goOn(waiting, large)), { confirm: 'decline' })).toEqual(
      said('The question "confirm" was declined.'),
    )
  })

  test('an answerer may answer, or leave the question open again', async () => {
    const { url } = await shop()
    const waiting = savedIn(await order('hat', url))
    const open = savedIn(await goOn(waiting, suspend()))
    expect({ ...readSaved(open), savedAt: '' }).toEqual({ ...readSaved(waiting), savedAt: '' })
    const next = savedIn(await goOn(open, () => ({ action: 'accept', content: { size: 'small' } })))
    expect(await goOn(next, sure)).toEqual(said('Ordered a small hat.'))
  })

  test('a file holds the call, is private, and is gone with it', async () => {
    const path = join(temporaryFolder(), 'call.json')
    const { url } = await shop()
    await orderByFile('hat', url, path)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    await goOnByFile(path, large)
    expect(Object.keys(readSaved(readFileSync(path, 'utf8')).inputRequests)).toEqual(['confirm'])
    expect(await goOnByFile(path, sure)).toEqual(said('Ordered a large hat.'))
    expect(existsSync(path)).toBe(false)
  })

  test('what others answered in the same round is saved along, and no header or token is', async () => {
    const server = createServer({ name: 'shop', version: '1.0.0', keys })
    server.tool('order', { description: 'Orders.' }, async (_, ctx) => {
      const [{ size: chosen }, roots] = await Promise.all([ctx.ask('size', size), ctx.roots('where')])
      return `A ${chosen} one for ${roots.length} folder.`
    })
    const { url } = await server.listen()
    onTestFinished(() => void server.drain({ deadlineMs: 0 }))
    const answerers = { form: suspend(), roots: folders([tmpdir()]) }
    const client = await connect(url, { answerers, bearer: 'token-1', headers: { 'x-key': 'key-1' } })
    onTestFinished(() => client.close())
    const { saved } = suspendedOf(await client.callTool({ name: 'order' }))!
    expect(Object.keys(saved.inputResponses)).toEqual(['where'])
    expect(JSON.stringify(saved)).not.toMatch(/token-1|key-1|_meta/)
    expect(await resume(saved, large, client)).toMatchObject({ content: [{ text: 'A large one for 1 folder.' }] })
  })

  test('in the session era a call goes on in its own session only', async () => {
    const { url } = await shop()
    const legacy = { client: { versionNegotiation: { mode: 'legacy' as const } }, answerers: { form: suspend() } }
    const [client, other] = [await connect(url, legacy), await connect(url, legacy)]
    onTestFinished(async () => void (await Promise.all([client.close(), other.close()])))
    const { saved } = suspendedOf(await client.callTool({ name: 'order', arguments: { item: 'hat' } }))!
    await expect(resume(saved, large, other)).rejects.toMatchObject({ code: -32602 })
    expect(suspendedOf(await resume(saved, large, client))).toBeDefined()
  })

  test('a pushed question cannot be suspended: the server gets a refusal, and the host hears why', async () => {
    const notices: Notice[] = []
    const answerers = { form: suspend() }
    const client = await connect((await sessionServer('call')).url, {
      answerers,
      onNotice: (notice) => notices.push(notice),
    })
    onTestFinished(() => client.close())
    const result = await client.callTool({ name: 'ask' })
    expect(suspendedOf(result)).toBeUndefined()
    expect(result.content).toMatchObject([{ text: '-1, state S' }])
    const error = { name: 'Suspend', message: expect.stringContaining('cannot be suspended; the question was refused') }
    expect(notices).toContainEqual({ kind: 'error', error: expect.objectContaining(error) })
  })
})

async function inAnotherProcess(waiting: string, answers: object): Promise<unknown> {
  const [node, args] = command('goOn.ts')
  const child = spawn(node, [...args, JSON.stringify(answers)], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(waiting)
  return JSON.parse(await text(child.stdout))
}
