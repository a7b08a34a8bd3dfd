/** The files of the guides about the gateway, served. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { createGateway, readGatewayConfig } from 'pannier/gateway'
import { createServer } from 'pannier/server'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { hostUntil } from '../fixtures/until.ts'
import { Rules } from '../../src/gateway/rules/index.ts'
import { gatewayCommand } from '../../src/cli/commands/gateway.ts'
import { call, connectClient } from '../gateway/fixtures/gateways.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { hasNginx, startNginx } from './fixtures/nginx.ts'

const VIEWS = 'examples/gateway/views.jsonc'
const ACCESS = 'examples/gateway/access.jsonc'
const NGINX = 'examples/gateway/nginx.conf'
const UNIT = 'examples/gateway/pannier-gateway.service'

const ends: (() => unknown)[] = []
const users: (string | undefined)[] = []
const authorizations: (string | undefined)[] = []

/** A server whose tools say their names. */
async function serverOf(name: string, tools: readonly string[]): Promise<string> {
  const server = createServer({
    name,
    version: '1.0.0',
    keys: KEYS,
    logger: quiet,
    principal: ({ header }) => {
      users.push(header('x-user'))
      authorizations.push(header('authorization'))
      return undefined
    },
  })
  const input = z.object({ query: z.string().optional() })
  for (const tool of tools) server.tool(tool, { description: `Does ${tool}.`, input }, () => `${name} ${tool}`)
  const { url } = await server.listen({ drainOnTerm: false })
  ends.push(() => server.drain({ deadlineMs: 0 }))
  return url
}

beforeAll(async () => {
  process.env['CRM_URL'] = await serverOf('crm', ['find_customer', 'list_orders', 'delete_customer'])
  process.env['WIKI_URL'] = await serverOf('wiki', ['search', 'write', 'purge'])
  process.env['CRM_TOKEN'] = 'the-token-of-the-gateway'
})

afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

async function serve(file: string) {
  const gateway = createGateway({ ...(await readGatewayConfig(file)), keys: KEYS, logger: quiet })
  const { url } = await gateway.listen({ drainOnTerm: false })
  onTestFinished(() => gateway.drain({ deadlineMs: 0 }))
  await gateway.tried()
  return { url, base: new URL('/', url).href }
}

test('a view has its tools under its names, and a search finds the others', async () => {
  const { base } = await serve(VIEWS)
  const support = await connectClient('v2', `${base}views/support`)
  const { tools } = await support.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['customer', 'crm_list_orders', 'wiki_search'])
  expect(tools[0]?.description).toBe('Finds a customer by name, email or order.')
  expect(await call(support, 'customer')).toBe('crm find_customer')
  await expect(call(support, 'wiki_write')).rejects.toThrow('There is no tool')
  const assistant = await connectClient('v1', `${base}views/assistant`)
  expect((await assistant.listTools()).tools.map(({ name }) => name)).toEqual([
    'find_tools',
    'describe_tool',
    'call_tool',
  ])
  expect(await call(assistant, 'find_tools', { query: 'orders' })).toContain('crm_list_orders')
  expect(await call(assistant, 'call_tool', { name: 'wiki_write', arguments: {} })).toBe('wiki write')
  expect(await call(assistant, 'find_tools', { query: 'purge' })).not.toContain('wiki_purge')
})

/** The keys of an issuer, served as it would. */
async function issuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }
  const host = await hostUntil((_, res) => res.end(JSON.stringify({ keys: [jwk] })))
  const tokenFor = (claims: object): Promise<string> =>
    new SignJWT({ scope: 'mcp', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'at+jwt' })
      .setIssuer('https://login.example.com')
      .setAudience('https://mcp.example.com/mcp')
      .setSubject('user-1')
      .setExpirationTime('5m')
      .sign(privateKey)
  return { url: `http://127.0.0.1:${host.port}/keys`, tokenFor }
}

test('a gateway that knows its callers tells the server who calls, and keeps their tokens', async () => {
  const { url: jwks, tokenFor } = await issuer()
  process.env['JWKS_URL'] = jwks
  const file = join(mkdtempSync(join(tmpdir(), 'pannier-access-')), 'mcp.json')
  writeFileSync(file, readFileSync(ACCESS)) // its pins are written beside it
  onTestFinished(() => rmSync(join(file, '..'), { recursive: true, force: true }))
  const { url } = await serve(file)
  for (const path of ['/mcp', '/mcp/crm']) {
    const refused = await fetch(new URL(path, url), { method: 'POST', body: '{}' })
    expect([path, refused.status]).toEqual([path, 401])
    const told = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1]
    const where = new URL(told ?? expect.fail('not told'))
    const document = await fetch(new URL(where.pathname, url)) // the name in it is that of the proxy in front
    expect(await document.json()).toMatchObject({ authorization_servers: ['https://login.example.com'] })
  }
  const token = await tokenFor({ email: 'ann@example.com' })
  const client = await connectClient('v2', url, { authorization: `Bearer ${token}` })
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['crm_find_customer', 'crm_list_orders'])
  users.length = 0
  expect(await call(client, 'crm_find_customer')).toBe('crm find_customer')
  expect(users).toContain('ann@example.com')
  expect(new Set(authorizations)).not.toContain(`Bearer ${token}`)
  expect(authorizations).toContain('Bearer the-token-of-the-gateway')
  const nameless = await connectClient('v2', url, { authorization: `Bearer ${await tokenFor({})}` })
  await expect(call(nameless, 'crm_find_customer')).rejects.toThrow('email')
})

test('the files for nginx and systemd fit the gateway', async () => {
  const nginx = readFileSync(NGINX, 'utf8')
  for (const line of ['proxy_buffering off;', 'proxy_set_header X-Request-Id $request_id;', 'server 127.0.0.1:8931;'])
    expect(nginx).toContain(line)
  const unit = readFileSync(UNIT, 'utf8')
  const options = /^ExecStart=.* gateway \S+ (.*)$/m.exec(unit)?.[1]?.match(/--[\w-]+/g)
  const known = gatewayCommand().options.map(({ long }) => long)
  expect(options).toEqual(['--port'])
  for (const option of options ?? []) expect(known).toContain(option)
  expect(unit).toContain('ExecReload=/bin/kill -HUP $MAINPID')
  // Where nginx is installed, a call goes through it.
  if (hasNginx()) await callThroughNginx(nginx)
})

/** The command of the unit for systemd, with folders of the test; the package is installed there as its source. */
function startUnit(): { child: ReturnType<typeof spawn>; file: string; shown: () => string } {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-unit-'))
  const bin = join(folder, 'node_modules/pannier/bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'pannier.js'), `import(${JSON.stringify(pathToFileURL('src/cli/main.ts').href)})`)
  const file = join(folder, 'mcp.json')
  writeFileSync(file, unitServers({}))
  const [command = '', ...args] = (/^ExecStart=(.*)$/m.exec(readFileSync(UNIT, 'utf8'))?.[1] ?? '')
    .replace('/usr/bin/node', process.execPath)
    .replace('/srv/pannier', folder)
    .replace('/etc/pannier/mcp.json', file)
    .replace('8931', '0')
    .split(' ')
  const NODE_OPTIONS = `${process.env['NODE_OPTIONS'] ?? ''} --conditions=pannier-source`
  const child = spawn(command, args, { cwd: folder, env: { ...process.env, NODE_OPTIONS, PANNIER_KEYS: KEYS } })
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  let shown = ''
  child.stderr.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  return { child, file, shown: () => shown }
}

function unitServers(servers: object): string {
  return JSON.stringify({ mcpServers: servers, gateway: { admin: false } })
}

test('the process that systemd starts reads the file again with HUP, and lets calls finish with TERM', async () => {
  const patience = { timeout: 30_000 }
  const slow = createServer({ name: 'slow', version: '1.0.0', keys: KEYS, logger: quiet })
  const begun = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  slow.tool('work', { description: 'Works.' }, async () => {
    begun.resolve()
    await over.promise
    return 'done'
  })
  const { url: behind } = await slow.listen({ drainOnTerm: false })
  onTestFinished(() => slow.drain({ deadlineMs: 0 }))
  const { child, file, shown } = startUnit()
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const url = await vi.waitFor(() => /Serving (http:\S+)/.exec(shown())?.[1] ?? expect.fail(shown()), patience)
  writeFileSync(file, unitServers({ slow: { url: behind } }))
  child.kill('SIGHUP')
  await vi.waitFor(() => expect(shown()).toContain('was read again: 1 added (slow)'), patience)
  const working = call(await connectClient('v2', url), 'slow_work')
  await begun.promise
  child.kill('SIGTERM')
  await vi.waitFor(() => expect(shown()).toContain('Draining.'), patience)
  over.resolve()
  expect(await working).toBe('done')
  expect(await ended).toBe(0)
})

async function callThroughNginx(config: string): Promise<void> {
  const { url } = await serve(VIEWS)
  const base = await startNginx(config.replace('127.0.0.1:8931', new URL(url).host), (end) =>
    onTestFinished(() => void end()),
  )
  const client = await vi.waitFor(() => connectClient('v1', `${base}/mcp`), { timeout: 20_000 })
  expect(await call(client, 'crm_list_orders')).toBe('crm list_orders')
  const support = await connectClient('v2', `${base}/views/support`)
  expect(await call(support, 'customer')).toBe('crm find_customer')
  await expectMetadataThroughNginx(config)
}

/** A client without a token finds, through nginx, who issues them. */
async function expectMetadataThroughNginx(config: string): Promise<void> {
  process.env['JWKS_URL'] = (await issuer()).url
  const file = join(mkdtempSync(join(tmpdir(), 'pannier-access-')), 'mcp.json')
  writeFileSync(file, readFileSync(ACCESS))
  onTestFinished(() => rmSync(join(file, '..'), { recursive: true, force: true }))
  const { url } = await serve(file)
  const base = await startNginx(config.replace('127.0.0.1:8931', new URL(url).host), (end) =>
    onTestFinished(() => void end()),
  )
  const refused = await vi.waitFor(async () => {
    const response = await fetch(`${base}/mcp/crm`, { method: 'POST', body: '{}' })
    expect(response.status).toBe(401)
    return response
  })
  const told = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? ''
  const document = await fetch(base + new URL(told).pathname)
  expect(await document.json()).toMatchObject({ resource: 'https://mcp.example.com/mcp/crm' })
}

test('the rules of the guide deny by caller and arguments, and the guide shows what explains them', async () => {
  const guide = readFileSync('docs/how-to/gateway-rules.md', 'utf8')
  process.env['JWKS_URL'] = 'https://login.example.com/keys'
  const { settings } = await readGatewayConfig('examples/gateway/rules.jsonc')
  const rules = new Rules(settings)
  const dev = { id: 'dev', subject: 'dev', claims: { role: 'dev' } }
  const pay = { name: 'crm_pay', ownName: 'pay', listed: { annotations: { destructiveHint: false } } }
  const denied = rules.decide({ principal: dev, server: 'crm', view: '', tool: pay, args: { given: { amount: 150 } } })
  expect(denied).toMatchObject({ outcome: 'deny', rule: 'gateway.deny[0]' })
  expect(guide).toContain(`Not allowed: ${denied.reason} (${denied.rule})`)
  expect(guide).toContain(`denied by ${denied.rule}: ${denied.reason}`)
  expect(rules.decide({ principal: dev, server: 'wiki', view: '' })).toMatchObject({ outcome: 'deny' })
  const staff = { ...dev, claims: { groups: ['staff'] } }
  expect(rules.decide({ principal: staff, server: 'wiki', view: '', tool: pay, args: { given: {} } }).outcome).toBe(
    'allow',
  )
  const wipe = { name: 'crm_wipe', ownName: 'wipe', listed: {} }
  const dry = rules.decide({ principal: dev, server: 'crm', view: '', tool: wipe, args: { given: {} } })
  expect(dry).toMatchObject({ outcome: 'allow', dryRun: { outcome: 'deny', rule: 'gateway.deny[2]' } })
})

test('the file of the guide on the audit log keeps one', async () => {
  process.env['CRM_URL'] = 'http://127.0.0.1:1/mcp'
  const { settings } = await readGatewayConfig('examples/gateway/audit.jsonc')
  expect(settings.audit).toEqual({ folder: 'audit', keepDays: 365, arguments: 'digest' })
})
