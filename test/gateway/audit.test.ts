/** The audit log of a gateway: every call and every decision, at every address, whatever ends the process. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { join } from 'node:path'
import { logs } from '@opentelemetry/api'
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { gatewayConfigOf } from 'pannier/gateway'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parseJson } from '../../src/protocol/index.ts'
import { createKeyring, newKey } from '../../src/state/seal/index.ts'
import { auditFolder } from '../../src/audit/index.ts'
import { pannier } from '../cli/fixtures/program.ts'
import { hostUntil } from '../fixtures/until.ts'
import { quiet } from '../interop/fixtures/instances.ts'
import { askless, principalOf, textOf, waitingIn } from '../questions/fixtures/askless.ts'
import { MANAGERS, newStore, startAsking, startBank, STORES } from './fixtures/bank.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { call, CLIENTS, connectClient, modernServer, sessionServer, startGateway } from './fixtures/gateways.ts'

const principal = ({ header }: { header: (name: string) => string | undefined }) => {
  const subject = (header('authorization') ?? '').replace('Bearer ', '')
  return { id: `i|${subject}`, subject, issuer: 'i', claims: {} }
}
const rule = "tool.ownName == 'note' && args.text == 'secret'"

function auditFolderOfTest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function entriesIn(folder: string): readonly object[] {
  return readdirSync(folder)
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))
    .map((line) => parseJson(line) as Record<string, unknown>)
    .filter(({ kind }) => kind !== 'head')
}

async function twoServers() {
  const [http, ours] = await Promise.all([sessionServer(), modernServer()])
  return { http: { url: http.url }, ours: { url: ours.url, pannier: { state: 'stateless' } } }
}

test.each(CLIENTS)('calls of the client %s are recorded with caller, tool, digest and outcome', async (kind) => {
  const folder = auditFolderOfTest()
  const top = { gateway: { audit: { folder }, deny: [{ if: rule, reason: 'No secrets.' }] } }
  const { gateway, url } = await startGateway(await twoServers(), { principal: principal as never }, top)
  const ann = await connectClient(kind, url, { authorization: 'Bearer ann' })
  // Bytes pass through to a server of the stateless era, unless an entry needs them.
  const alone = await connectClient(kind, `${url}/ours`, { authorization: 'Bearer bo' })
  expect(await call(ann, 'http_add', { a: 1, b: 2 })).toBe('3')
  expect(await call(alone, 'add', { b: 2, a: 1 })).toBe('3')
  expect(await call(ann, 'ours_confirm')).toBe('accept true, accept true')
  expect(await call(ann, 'http_note', { text: 'secret' })).toContain('No secrets.')
  await gateway.drain({ deadlineMs: 0 })

  const entries = entriesIn(folder)
  const client = { client: kind }
  expect(entries).toContainEqual(
    expect.objectContaining({
      kind: 'call',
      server: 'http',
      name: 'add',
      caller: { subject: 'ann', issuer: 'i', ...client },
      outcome: 'complete',
      argumentsDigest: expect.any(String) as string,
    }),
  )
  const added = entries.filter((entry) => 'name' in entry && entry.name === 'add')
  // The same arguments have the same digest, in whatever order they come.
  expect(new Set(added.map((entry) => 'argumentsDigest' in entry && entry.argumentsDigest)).size).toBe(1)
  expect(added).toMatchObject([{ route: '/mcp' }, { route: '/mcp/ours', caller: { subject: 'bo' } }])
  const last = entries.findLast((entry) => 'name' in entry && entry.name === 'confirm')
  expect(last).toMatchObject({ kind: 'call', server: 'ours', outcome: 'complete' })
  const denied = {
    kind: 'decision',
    outcome: 'deny',
    rule: 'gateway.deny[0]',
    name: 'note',
    caller: { subject: 'ann' },
  }
  expect(entries.filter((entry) => 'name' in entry && entry.name === 'note')).toMatchObject([denied])
  expect(JSON.stringify(entries)).not.toMatch(/secret/)
})

test('arguments are recorded where the settings say so', async () => {
  const folder = auditFolderOfTest()
  const top = { gateway: { audit: { folder, arguments: 'full' } } }
  const { url } = await startGateway(await twoServers(), {}, top)
  await call(await connectClient('v2', url), 'ours_add', { a: 1, b: 2 })
  expect(entriesIn(folder)).toMatchObject([{ arguments: { a: 1, b: 2 }, outcome: 'complete' }])
})

test.each(STORES)('with %s, approvers are notified, and the log names who decided', async (store) => {
  const folder = auditFolderOfTest()
  const { url: bank } = await startBank()
  const posted: string[] = []
  const { origin } = await hostUntil((req, res) => {
    void text(req).then((body) => posted.push(body))
    res.end()
  })
  const settings = {
    ...(await newStore(store)),
    approve: [MANAGERS],
    audit: { folder },
    notify: [{ chat: `${origin}/t` }],
  }
  const { url, gateway } = await startAsking({ bank: { url: bank, pannier: { state: 'stateless' } } }, settings)
  const ann = await askless('SDK v2', url, 'ann')
  const mia = principalOf('mia')
  for (const [amount, approve] of [
    [5, true],
    [6, false],
  ] as const) {
    const { ticket } = waitingIn(await ann.call('bank_pay', { amount }))
    await vi.waitFor(() => expect(posted.splice(0).join()).toContain('ann called bank_pay of'))
    const [question] = (await gateway.questions.open({ for: mia })).questions
    await gateway.questions.answer(question!.id, approve ? { approve } : 'decline', mia)
    const result = textOf(await ann.call('continue_call', { ticket }))
    expect(result).toBe(approve ? 'paid 5' : 'Not approved: mia declined. Nothing was sent.')
  }
  const about = { server: 'bank', name: 'pay', caller: { subject: 'ann' } }
  const wanted = { kind: 'decision', outcome: 'approve', rule: 'gateway.approve[0]', ...about }
  const question = expect.stringMatching(/^gateway_call_.*:approval$/) as string
  const by = { rule: 'gateway.approve[0]', answeredBy: { subject: 'mia' }, way: 'program', question, ...about }
  expect(entriesIn(folder).filter((entry) => 'kind' in entry && entry.kind !== 'call')).toMatchObject([
    wanted,
    { kind: 'approval', outcome: 'approved', ...by },
    wanted,
    { kind: 'approval', outcome: 'declined', ...by },
  ])
  const calls = entriesIn(folder).filter((entry) => 'kind' in entry && entry.kind === 'call')
  expect(calls).toMatchObject([{ ...about, outcome: 'complete' }])
})

test.each(STORES)('with %s, the log names who answered a question of a server, and where', async (store) => {
  const folder = auditFolderOfTest()
  const { url: bank } = await startBank()
  const servers = { bank: { url: bank, pannier: { state: 'stateless' } } }
  const { url } = await startAsking(servers, { ...(await newStore(store)), audit: { folder } })
  const ann = await askless('SDK v2', url, 'ann')
  const { ticket, questions } = waitingIn(await ann.call('bank_transfer', { amount: 5 }))
  const { id, url: page = '' } = questions[0]!
  await fetch(page, { method: 'POST', body: new URLSearchParams({ action: 'accept', 'field.sure': 'yes' }) })
  expect(textOf(await ann.call('continue_call', { ticket }))).toBe('transferred 5')
  const about = { server: 'bank', name: 'transfer', caller: { subject: 'ann' } }
  expect(entriesIn(folder).filter((entry) => 'kind' in entry)).toMatchObject([
    { kind: 'call', outcome: 'asked', ...about },
    { kind: 'answer', action: 'accept', answeredBy: { subject: 'ann' }, way: 'page', question: id, ...about },
    { kind: 'call', outcome: 'complete', ...about },
  ])
})

test('channels of the file are checked when it is read', async () => {
  const given = [{ webhook: 'https://x.example' }, { chat: 'x' }, { mail: 'smtp://x', from: 'a@b.c' }, {}]
  const { settings, ...read } = await gatewayConfigOf({ mcpServers: {}, gateway: { store: 'q.db' } })
  expect([settings.notify, read.servers]).toEqual([undefined, []])
  const problems = await gatewayConfigOf({ mcpServers: {}, gateway: { notify: given } }).catch(
    (error: unknown) => error,
  )
  for (const sentence of ['A webhook needs a "secret"', 'http or https', 'Mail needs "from" and "to"', 'has one of'])
    expect(String(problems)).toContain(sentence)
})

test('entries are log records of OpenTelemetry', async () => {
  const exporter = new InMemoryLogRecordExporter()
  logs.setGlobalLoggerProvider(new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter })] }))
  onTestFinished(() => logs.disable())
  const folder = auditFolderOfTest()
  const { url } = await startGateway(await twoServers(), {}, { gateway: { audit: { folder } } })
  await call(await connectClient('v2', url), 'ours_add', { a: 1, b: 2 })
  const [record] = exporter.getFinishedLogRecords()
  expect(record).toMatchObject({ eventName: 'pannier.audit.call', body: { name: 'add', outcome: 'complete' } })
})

test('a gateway that is killed has written each call that was answered, and the program verifies that', async () => {
  const folder = auditFolderOfTest()
  const ours = await modernServer()
  const servers = { ours: { url: ours.url, pannier: { state: 'stateless' } } }
  const settings = { admin: false, audit: { folder } }
  const { url, end } = await startGatewayProcess(servers, { settings })
  const client = await connectClient('v2', url)
  for (let count = 0; count < 20; count++) await call(client, 'ours_add', { a: count, b: 2 })
  await end('SIGKILL')
  expect(entriesIn(folder)).toHaveLength(20)

  const whole = await pannier(['audit', 'verify', folder])
  expect(whole).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^The log is whole: 20 entries\.\n/) as string,
  })
  expect(whole.stdout).toMatch(/has not closed its log.*last 20 entries/)

  const [name = ''] = readdirSync(folder)
  const lines = readFileSync(join(folder, name), 'utf8').split('\n')
  writeFileSync(join(folder, name), lines.toSpliced(7, 1).join('\n'))
  const cut = await pannier(['audit', 'verify', join(folder, name)])
  expect(cut.status).toBe(1)
  expect(cut.stdout).toContain(':8  A line is missing before this one.')
})

test('the program names files that it cannot read, and says where signatures were not verified', async () => {
  const folder = auditFolderOfTest()
  expect(await pannier(['audit', 'verify', join(folder, 'none')])).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/Cannot read .*none \(ENOENT\); check its path/) as string,
  })
  expect(await pannier(['audit', 'verify', folder])).toMatchObject({ status: 2 })
  auditFolder({ folder, keyring: createKeyring(newKey()), keepDays: 1, logger: () => quiet }).close()
  const bare = await pannier(['audit', 'verify', folder], { env: { PANNIER_KEYS: undefined } })
  expect(bare).toMatchObject({ status: 0, stdout: expect.stringMatching(/Signatures were not verified/) as string })
  expect(await pannier(['audit', 'verify', folder])).toMatchObject({ status: 1 })
})

test('a folder that cannot be written to is an error at the start', async () => {
  const folder = auditFolderOfTest()
  writeFileSync(join(folder, 'file'), '')
  const top = { gateway: { audit: { folder: join(folder, 'file') } } }
  await expect(startGateway({}, {}, top)).rejects.toThrow(/The audit log cannot be written to .*file/)
})
