import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createKeyring, newKey } from '../../state/seal/index.ts'
import {
  BACKEND_DEFAULTS,
  GATEWAY_DEFAULTS,
  GatewayConfigError,
  type GatewayConfig,
  gatewayConfigOf,
  namedServers,
  problemText,
  readGatewayConfig,
} from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-gateway-config-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileWith(text: string, name = 'mcp.json'): string {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

/** The lines of the error, without the folder. */
async function problemsOf(reading: Promise<GatewayConfig>): Promise<readonly string[]> {
  const error: unknown = await reading.catch((cause: unknown) => cause)
  expect(error).toBeInstanceOf(GatewayConfigError)
  return String((error as Error).message)
    .replaceAll(`${folder}/`, '')
    .split('\n')
}

const secret = 'hunter2'

describe('the file that people have', () => {
  test('needs no setting', async () => {
    const file = fileWith(`{
      // Claude
      "mcpServers": {
        "files": { "command": "npx", "args": ["-y", "files", "\${HOME}"], "env": { "TOKEN": "\${TOKEN}" } },
        "9": { "type": "http", "url": "https://nine.example/mcp" },
        "web": { "type": "sse", "url": "https://web.example/sse", "headers": { "X-Key": "\${KEY:-none}" } },
      },
    }`)
    const settings = BACKEND_DEFAULTS
    expect(await readGatewayConfig(file, { HOME: '/h', TOKEN: 't' })).toEqual({
      file,
      servers: [
        {
          name: 'files',
          address: { command: 'npx', args: ['-y', 'files', '/h'], env: { TOKEN: 't' }, cwd: folder },
          settings,
          variableValues: ['/h', 't'],
        },
        { name: '9', address: { url: 'https://nine.example/mcp', headers: {} }, settings },
        {
          name: 'web',
          address: { url: 'https://web.example/sse', headers: { 'X-Key': 'none' }, transport: 'sse' },
          settings,
        },
      ],
      unusable: [],
      settings: GATEWAY_DEFAULTS,
    })
  })

  test('keeps its own keys, which others use', async () => {
    const file = fileWith(
      `{ "inputs": [], "servers": { "a": { "command": "a", "tools": ["*"], "timeout": 7, "alwaysAllow": [] } } }`,
    )
    expect((await readGatewayConfig(file)).servers).toMatchObject([{ name: 'a' }])
  })

  test("has its servers also in VS Code's settings, and in several places", async () => {
    const file = fileWith(
      '{ "mcp": { "servers": { "a": { "command": "a" } } }, "servers": { "b": { "command": "b" } } }',
    )
    expect((await readGatewayConfig(file)).servers.map(({ name }) => name)).toEqual(['a', 'b'])
  })

  test('belongs to the folder above .vscode', async () => {
    const file = fileWith('{ "servers": { "a": { "command": "${workspaceFolder}/a" } } }', '.vscode/mcp.json')
    expect((await readGatewayConfig(file)).servers[0]?.address).toMatchObject({ command: `${folder}/a`, cwd: folder })
  })
})

test('settings stand in the entry and at the top, with variables in their strings', async () => {
  const keys = newKey()
  const config = await gatewayConfigOf(
    {
      servers: {
        a: {
          url: 'https://a.example/mcp',
          pannier: {
            state: 'stateful',
            prefix: 'my_a',
            tools: { deny: ['${KIND}_*'] },
            timeoutSeconds: 0.5,
            maxInFlight: 60,
          },
        },
        b: { command: 'b', pannier: { prefix: false, definitions: 'warn', maxProcesses: 2 } },
        c: { command: '${NONE}', disabled: true },
        d: { command: 'd', pannier: { disabled: true } },
      },
      gateway: {
        stateful: 'reject',
        definitions: 'pin',
        catalogue: 'search',
        views: { support: { tools: ['crm_*'], rename: { crm_find: 'find' }, catalogue: 'all' }, rest: {} },
        limits: { callsAtOnce: 5 },
        admin: { host: '0.0.0.0', token: '${ADMIN}' },
        principal: {
          issuer: 'https://id.example',
          audience: 'https://me.example/mcp',
          jwks: 'https://id.example/jwks',
        },
        allowedHosts: ['me.example'],
        allowedOrigins: ['https://app.example'],
        keys: '${KEYS}',
      },
    },
    { env: { KIND: 'delete', ADMIN: secret, KEYS: keys }, folder },
  )
  const [a, b, c, d] = config.servers
  expect(a?.settings).toEqual({
    ...BACKEND_DEFAULTS,
    state: 'stateful',
    prefix: 'my_a',
    tools: { allow: ['*'], deny: ['delete_*'] },
    definitions: 'pin',
    timeoutSeconds: 0.5,
    maxInFlight: 60,
  })
  expect(b?.settings).toMatchObject({ prefix: false, definitions: 'warn', maxProcesses: 2 })
  expect([c?.settings.disabled, d?.settings.disabled]).toEqual([true, true])
  expect(config.settings).toMatchObject({
    stateful: 'reject',
    views: {
      support: { tools: ['crm_*'], deny: [], rename: { crm_find: 'find' }, descriptions: {}, catalogue: 'all' },
      rest: { tools: ['*'], catalogue: 'search' },
    },
    limits: { callsAtOnce: 5 },
    admin: { host: '0.0.0.0', port: 8932, token: secret },
    principal: { issuer: 'https://id.example' },
    keys,
  })
  expect(createKeyring(config.settings.keys ?? '').ids).toHaveLength(1)
})

test('a server whose variables or files are missing is told apart, and keeps its name', async () => {
  const file = fileWith(`{ "servers": {
    "a": { "command": "a" },
    "a_b": { "command": "b",
      "env": { "KEY": "\${ABSENT}" }, "envFile": "none.env", "pannier": { "prefix": "bee" } },
    "c": { "url": "https://c.example", "headers": { "Authorization": "\${input:key}" } }
  } }`)
  const config = await readGatewayConfig(file, {})
  expect(config.servers.map(({ name }) => name)).toEqual(['a'])
  const texts = config.unusable.flatMap(({ problems }) => problems.map(problemText))
  expect(texts.map((text) => text.replaceAll(`${folder}/`, ''))).toEqual([
    'mcp.json:4: servers.a_b.env.KEY needs the variable "ABSENT". Set it in the environment.',
    'mcp.json:4: servers.a_b.envFile is a file that cannot be read: none.env (ENOENT).',
    'mcp.json:5: servers.c.headers.Authorization needs the variable "input:key". Only an editor can ask for its value; write ${VAR} in its place.',
  ])
  expect(namedServers(config)).toEqual([{ name: 'a' }, { name: 'a_b', prefix: 'bee' }, { name: 'c' }])
})

test('all problems are told at once, by file, line and key, and without any value', async () => {
  const file = fileWith(`{
  "servers": {
    "github": {
      "url": "ftp://${secret}",
      "headers": { "X-A": "\${ABSENT}", "X-B": ["${secret}"], "X C": "", "X-D": "a\\nb", "X-E": "\${principal.email}" },
      "pannier": {
        "state": "${secret}",
        "timeoutSeconds": "${secret}",
        "maxProceses": 4
      }
    },
    "my server": { "command": "\${principal.id}", "args": "${secret}", "pannier": { "tools": ["a"], "prefix": "a b" } },
    "user": { "url": "https://ann:${secret}@a.example" },
    "none": { "panier": {} },
    "text": "${secret}",
    "..": { "command": "dots" },
    "p": { "command": "p", "pannier": { "prefix": "x_y" } },
    "q": { "command": "q", "pannier": { "prefix": "x" } },
    "r": { "command": "r", "pannier": { "prefix": false } },
    "s": { "command": "s", "pannier": { "prefix": false } },
    "twice": { "command": "one" },
    "twice": { "command": "two" }
  },
  "mcpServers": { "r": { "command": "again", "pannier": [] } }, "Gatewy": {},
  "gateway": {
    "view": {},
    "views": { "": {}, "a": { "rename": { "x": "y", "z": "y" }, "tools": [7], "deny": [""] } },
    "admin": { "host": "0.0.0.0", "port": 70000 },
    "principal": { "issuer": "i", "jwks": "http://far.example/keys" },
    "allowedHosts": ["a/b"], "keys": "${secret}", "limits": { "callsAtOnce": 0 }, "stateful": true
  }
}`)
  const lines = await problemsOf(readGatewayConfig(file, {}))
  expect(lines).toEqual([
    'mcp.json:4: servers.github.url must be a complete address that begins with http:// or https://.',
    'mcp.json:5: servers.github.headers.X-A needs the variable "ABSENT". Set it in the environment.',
    'mcp.json:5: servers.github.headers.X-B must be a string.',
    'mcp.json:5: servers.github.headers["X C"] has a name that cannot stand in a request.',
    'mcp.json:5: servers.github.headers.X-D has characters that cannot stand in a header.',
    'mcp.json:5: servers.github.headers.X-E may use ${principal.id} and ${principal.claims.NAME}, and nothing else of it.',
    'mcp.json:7: servers.github.pannier.state must be "auto", "stateless" or "stateful".',
    'mcp.json:8: servers.github.pannier.timeoutSeconds must be a number of seconds, more than 0 and at most 2147483.',
    'mcp.json:9: servers.github.pannier.maxProceses is not known; did you mean "maxProcesses"?',
    'mcp.json:12: servers["my server"].command needs the variable "principal.id". Only the gateway knows it, in the "headers" and the "env" of a server.',
    'mcp.json:12: servers["my server"].args must be a list of strings.',
    'mcp.json:12: servers["my server"].pannier.tools must be an object.',
    'mcp.json:12: servers["my server"].pannier.prefix must be 1 to 32 of the characters A-Z, a-z, 0-9, _ and -, or false for none.',
    'mcp.json:13: servers.user.url holds a user name or password; give an Authorization header or a bearer token instead.',
    'mcp.json:14: servers.none needs a "command", a "url" or a "container".',
    'mcp.json:14: servers.none.panier is not read; did you mean "pannier"?',
    'mcp.json:15: servers.text must be an object.',
    'mcp.json:16: servers[".."] cannot be part of an address; give it another name.',
    'mcp.json:18: servers.q.pannier.prefix cannot be distinguished from that of servers.p.',
    'mcp.json:20: servers.s.pannier.prefix must not be false, because another server has no prefix already.',
    'mcp.json:22: servers.twice stands there twice; leave one of them out.',
    'mcp.json:24: mcpServers.r.pannier must be an object.',
    'mcp.json:24: Gatewy is not read; did you mean "gateway"?',
    'mcp.json:24: mcpServers.r has the name of servers.r; give it another one.',
    'mcp.json:26: gateway.view is not known; did you mean "views"?',
    'mcp.json:27: gateway.views[""] cannot be part of an address; give it another name.',
    'mcp.json:27: gateway.views.a.tools[0] must be a string.',
    'mcp.json:27: gateway.views.a.deny[0] must not be empty; * stands for any characters.',
    'mcp.json:27: gateway.views.a.rename gives two tools the same name.',
    'mcp.json:28: gateway.admin.port must be a whole number from 0 to 65535.',
    'mcp.json:28: gateway.admin needs a "token", because its host is not this machine alone.',
    'mcp.json:29: gateway.principal needs "audience".',
    'mcp.json:30: gateway.allowedHosts[0] must be a host name.',
    'mcp.json:30: gateway.keys must be keys as in PANNIER_KEYS; make one with: pannier keys new',
    'mcp.json:30: gateway.limits.callsAtOnce must be a whole number, at least 1.',
    'mcp.json:30: gateway.stateful must be "serve" or "reject".',
  ])
  expect(lines.join('\n')).not.toContain(secret)
})

describe('a setting that is a number or a flag', () => {
  const settings = {
    gateway: { admin: { port: '${ADMIN_PORT:-8932}' }, workers: '${WORKERS}', leaseSeconds: '${env:LEASE}' },
    servers: {
      a: { command: 'a', pannier: { maxProcesses: '${MOST}', timeoutSeconds: '${TIME}', replay: '${REPLAY}' } },
      b: { command: 'b', pannier: { disabled: '${OFF}', maxProcesses: '${ABSENT}' } },
    },
  }
  const env = { WORKERS: '2', LEASE: '2.5', MOST: '4', TIME: '0.5', REPLAY: 'true', OFF: 'true' }

  test('may be a variable', async () => {
    const config = await gatewayConfigOf(settings, { env })
    expect(config.settings).toMatchObject({ admin: { port: 8932 }, workers: 2, leaseSeconds: 2.5 })
    const [a, b] = config.servers
    expect(a?.settings).toMatchObject({ maxProcesses: 4, timeoutSeconds: 0.5, replay: true })
    expect(a).not.toHaveProperty('variableValues')
    expect(b?.settings).toMatchObject({ disabled: true, maxProcesses: 64 })
    const other = await gatewayConfigOf(settings, { env: { ...env, ADMIN_PORT: '9000', OFF: 'false', ABSENT: '1' } })
    expect(other.settings).toMatchObject({ admin: { port: 9000 } })
    expect(other.servers[1]?.settings).toMatchObject({ disabled: false, maxProcesses: 1 })
  })

  test('is refused with the name of the variable, and without its value', async () => {
    const wrong = { ADMIN_PORT: secret, LEASE: '1', MOST: '1.5', TIME: '0', REPLAY: secret, OFF: secret, ABSENT: '' }
    const lines = await problemsOf(gatewayConfigOf(settings, { env: wrong }))
    expect(lines).toEqual([
      'servers.a.pannier.maxProcesses must be a whole number, at least 1; the value of the variable "MOST" is not.',
      'servers.a.pannier.timeoutSeconds must be a number of seconds, more than 0 and at most 2147483; the value of the variable "TIME" is not.',
      'servers.a.pannier.replay must be true or false; the value of the variable "REPLAY" is not.',
      'servers.b.pannier.disabled must be true or false; the value of the variable "OFF" is not.',
      'servers.b.pannier.maxProcesses must be a whole number, at least 1; the value of the variable "ABSENT" is not.',
      'gateway.admin.port must be a whole number from 0 to 65535; the value of the variable "ADMIN_PORT" is not.',
      'gateway.workers needs the variable "WORKERS". Set it in the environment.',
      'gateway.leaseSeconds must be at least 2; the value of the variable "LEASE" is not.',
    ])
    expect(lines.join(' ')).not.toContain(secret)
  })

  test('is no text otherwise', async () => {
    const texts = { gateway: { workers: '2', admin: { port: '8${X}' } }, servers: {} }
    expect(await problemsOf(gatewayConfigOf(texts, { env: { X: '0' } }))).toEqual([
      'gateway.workers must be a whole number from 1 to 64.',
      'gateway.admin.port must be a whole number from 0 to 65535.',
    ])
  })
})

test('variables that begin as ours do, and that nobody reads, are warnings', async () => {
  const file = fileWith('{ "servers": { "a": { "command": "a", "env": { "T": "${PANNIER_OWN}" } } } }')
  const env = {
    PANNIER_PEER: secret,
    PANNIER_ADMIN: secret,
    PANNIER_OWN: secret,
    PANNIER_KEYS: 'k',
    PANNIER_PEERS: 'p',
    PANNIER_ADVERTISE: 'a',
    PANNIER_LOG_LEVEL: 'info',
    PANNIER_GATEWAYS: 'g',
    PANNIER_SERVICE_HOST: '10.0.0.1',
    PANNIER_PORT: 'tcp://10.0.0.1:8931',
    PANNIER_PORT_8931_TCP_ADDR: '10.0.0.1',
    PANNIER_GATEWAY_SERVICE_PORT_HTTP: '8931',
  }
  const { warnings = [] } = await readGatewayConfig(file, env)
  expect(warnings.map(problemText)).toEqual([
    'PANNIER_PEER is not read; did you mean "PANNIER_PEERS"?',
    'PANNIER_ADMIN is not read. There are PANNIER_KEYS, PANNIER_ADVERTISE, PANNIER_PEERS, PANNIER_LOG_LEVEL.',
  ])
})

test('a header or a variable that names the caller is a warning where no "principal" says who calls', async () => {
  const servers = `"servers": {
    "crm": { "url": "https://a.example/mcp", "headers": { "X-User": "\${principal.id}" } },
    "files": { "command": "a", "env": { "WHO": "\${ principal.claims.email }", "KEY": "k" } }
  }`
  const { warnings = [] } = await readGatewayConfig(fileWith(`{ ${servers} }`), {})
  const sentence =
    'names the caller, and "gateway" has no "principal" to say who calls: every call to this server is refused.'
  expect(warnings.map((warning) => problemText(warning).replace(`${folder}/`, ''))).toEqual([
    `mcp.json:2: servers.crm.headers.X-User ${sentence}`,
    `mcp.json:3: servers.files.env.WHO ${sentence}`,
  ])
  const principal =
    '{ "issuer": "https://i.example", "audience": "https://g.example/mcp", "jwks": "https://i.example/jwks" }'
  const known = await readGatewayConfig(fileWith(`{ ${servers}, "gateway": { "principal": ${principal} } }`), {})
  expect(known.warnings ?? []).toEqual([])
  const wrong = fileWith('{ "servers": { "files": { "command": "a", "env": { "WHO": "${principal.name}" } } } }')
  expect(await problemsOf(readGatewayConfig(wrong, {}))).toContain(
    'mcp.json:1: servers.files.env.WHO may use ${principal.id} and ${principal.claims.NAME}, and nothing else of it.',
  )
})

test('the addresses of other programs are read, checked and named as the file has them', async () => {
  const file = fileWith(`{
  "mcpServers": {
    "gemini": { "httpUrl": "https://a.example/mcp", "timeout": 5000, "trust": true },
    "windsurf": { "serverUrl": "https://\${HOST:-b.example}/mcp", "pannier": { "urls": ["https://c.example/mcp"] } },
    "doubt": { "serverUrl": "https://a.example/$TOKEN" },
    "typo": { "command": "a", "serverURL": "https://a.example/mcp" }
  }
}`)
  const { servers, warnings = [] } = await readGatewayConfig(file, {})
  expect(servers.slice(0, 2).map(({ address }) => address)).toEqual([
    { url: 'https://a.example/mcp', headers: {} },
    { url: 'https://b.example/mcp', headers: {} },
  ])
  expect(warnings.map((warning) => problemText(warning).replace(`${folder}/`, ''))).toEqual([
    'mcp.json:5: mcpServers.doubt.serverUrl has a "$" before a name, and is passed on as it is; a variable is written ${NAME}.',
    'mcp.json:6: mcpServers.typo.serverURL is not read; did you mean "serverUrl"?',
  ])
  const wrong = fileWith(`{
  "mcpServers": {
    "user": { "httpUrl": "https://ann:${secret}@a.example" },
    "two": { "url": "https://a.example/sse", "httpUrl": "https://a.example/mcp" }
  }
}`)
  expect(await problemsOf(readGatewayConfig(wrong, {}))).toEqual([
    'mcp.json:3: mcpServers.user.httpUrl holds a user name or password; give an Authorization header or a bearer token instead.',
    'mcp.json:4: mcpServers.two has different addresses in "url" and "httpUrl"; leave in the one that is meant.',
  ])
})

test('what nobody reads where it stands is warned of, by file, line and key', async () => {
  const file = fileWith(`{
  "servers": {
    "a": { "command": "a", "agrs": [], "Env": {}, "cmd": "b",
      "state": "stateless", "tools": { "deny": ["x"] }, "gateway": {} },
    "b": { "url": "http://b.example", "header": {}, "tools": ["*"], "timeout": 5, "name": "B", "disabled": "yes" }
  },
  "mcpServer": { "c": { "command": "c" } },
  "views": {}, "pannier": { "workers": 2 },
  "projects": {}, "editor.fontSize": 12
}`)
  const { warnings = [], servers } = await readGatewayConfig(file, {})
  expect(servers.map(({ name }) => name)).toEqual(['a', 'b'])
  expect(warnings.map((warning) => problemText(warning).replace(`${folder}/`, ''))).toEqual([
    'mcp.json:3: servers.a.agrs is not read; did you mean "args"?',
    'mcp.json:3: servers.a.Env is not read; did you mean "env"?',
    'mcp.json:3: servers.a.cmd is not read; did you mean "command"?',
    'mcp.json:4: servers.a.state is not read there; as a setting of the gateway it stands under "pannier" in the entry.',
    'mcp.json:4: servers.a.tools is not read there; as a setting of the gateway it stands under "pannier" in the entry.',
    'mcp.json:4: servers.a.gateway is not read there; it stands at the top of the file.',
    'mcp.json:5: servers.b.header is not read; did you mean "headers"?',
    'mcp.json:5: servers.b.disabled is not read, because it is neither true nor false.',
    'mcp.json:7: mcpServer is not read; did you mean "mcpServers"?',
    'mcp.json:8: views is not read there; as a setting of the gateway it stands under "gateway".',
    'mcp.json:8: pannier is not read there; it stands in the entry of a server, and settings of all under "gateway".',
  ])
})

test('what can be used, and is most likely meant otherwise, is warned of without its value', async () => {
  const file = fileWith(`{
  "servers": {
    "crm": { "command": "npx -y ${secret}", "args": ["-c", "echo $HOME"], "env": { "A": "$TOKEN", "B": "a$b 5$" } },
    "web": { "type": "htttp", "url": "https://a.example/mcp",
      "headers": { "Authorization": "${secret}", "X-A": "\${${secret}", "X-B": "$COPILOT_MCP_X" } },
    "fine": { "command": "C:\\\\Program Files\\\\a.exe", "env": { "C": "\${TOKEN:-x}" } },
    "also": { "type": "streamable-http", "url": "https://a.example/mcp", "headers": { "authorization": "\${TOKEN:-x}" } }
  },
  "gateway": { "views": { "s": { "tools": ["crm_*", "*", "c*", "find_*"], "deny": ["crm"], "rename": { "web_x": "x", "wbe_x": "y" } } } }
}`)
  const { warnings = [] } = await readGatewayConfig(file, { COPILOT_MCP_X: '1' })
  const begin = 'fits no tool, because their names begin with "crm_", "web_", "fine_" or "also_".'
  expect(warnings.map((warning) => problemText(warning).replace(`${folder}/`, ''))).toEqual([
    'mcp.json:3: servers.crm.command has spaces; it is the program alone, and the rest stands in "args".',
    'mcp.json:3: servers.crm.env.A has a "$" before a name, and is passed on as it is; a variable is written ${NAME}.',
    'mcp.json:4: servers.web.type is not known; did you mean "http"?',
    'mcp.json:5: servers.web.headers.X-A has a "${" without its "}", and is passed on as it is.',
    'mcp.json:5: servers.web.headers.Authorization has no scheme; most servers want "Bearer" and a space before a token.',
    `mcp.json:9: gateway.views.s.tools[3] ${begin}`,
    `mcp.json:9: gateway.views.s.deny[0] ${begin}`,
    `mcp.json:9: gateway.views.s.rename.wbe_x ${begin}`,
  ])
})

test('of many servers a warning names the first five', async () => {
  const servers = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`s${at}`, { command: 'x' }]))
  const views = { v: { tools: ['none'] } }
  const { warnings = [] } = await gatewayConfigOf({ mcpServers: servers, gateway: { views } })
  expect(warnings.map(problemText).join()).toMatch(/begin with "s0_", "s1_", "s2_", "s3_", "s4_" and so on\.$/)
})

test.each<[string, string, string]>([
  ['an empty file', ' \n', 'mcp.json is empty; it needs servers under "mcpServers".'],
  ['a list of servers', '{ "servers": [] }', '"servers" is a list; write an object with a name for each server.'],
  [
    'an impossible port',
    '{ "servers": { "a": { "url": "http://a:99999/" } } }',
    'a.url must be a complete address; check its host and port.',
  ],
  [
    'a command for HTTP',
    '{ "servers": { "a": { "type": "http", "command": "a" } } }',
    'servers.a has the type "http", and needs a "url".',
  ],
  [
    'a setting of all in one',
    '{ "servers": { "a": { "command": "a", "pannier": { "views": {} } } } }',
    'a.pannier.views is a setting of the gateway, which stands under "gateway" at the top.',
  ],
  [
    'a setting of one in all',
    '{ "servers": {}, "gateway": { "timeoutSeconds": 5 } }',
    'gateway.timeoutSeconds is a setting of a server, which stands under "pannier" in its entry.',
  ],
  [
    'an option of the program',
    '{ "servers": {}, "gateway": { "port": 80 } }',
    'gateway.port is an option of the program: pannier gateway --port.',
  ],
])('%s is refused with what to do', async (_, content, sentence) => {
  await expect(readGatewayConfig(fileWith(content), {})).rejects.toThrow(sentence)
})

test('a misspelt member is told together with what is wrong because of it', async () => {
  expect(await problemsOf(readGatewayConfig(fileWith('{ "servers": { "a": { "comand": "a" } } }')))).toEqual([
    'mcp.json:1: servers.a needs a "command", a "url" or a "container".',
    'mcp.json:1: servers.a.comand is not read; did you mean "command"?',
  ])
  await expect(readGatewayConfig(fileWith('{ "mcpservers": {} }'))).rejects.toThrow(
    'neither "mcpServers" nor "servers" is an object. "mcpservers" is not read; did you mean "mcpServers"?',
  )
})

test.each<[string, object, RegExp | undefined]>([
  ['a program', { command: 'a' }, /is for servers over HTTP/],
  ['an address that is not https', { url: 'http://crm.example/mcp' }, /could read callers' tokens/],
  ['this machine', { url: 'http://127.0.0.1:3000/mcp' }, undefined],
  ['https', { url: 'https://crm.example/mcp' }, undefined],
  ['an entry with a token', { url: 'https://a.example/mcp', headers: { authorization: 'Bearer x' } }, /of its own/],
])('passing tokens of callers on to %s', async (_, entry, sentence) => {
  const config = gatewayConfigOf({ mcpServers: { a: { ...entry, pannier: { forwardAuthorization: true } } } })
  if (sentence === undefined) expect((await config).servers[0]?.settings.forwardAuthorization).toBe(true)
  else await expect(config).rejects.toThrow(sentence)
})

test.each<[string, object, RegExp]>([
  ['no servers', {}, /^The configuration has no servers/],
  [
    'the address of a key set in plain text',
    { principal: { issuer: 'i', audience: 'a', jwks: 'http://far.example/' } },
    /^gateway\.principal cannot be used\. /,
  ],
  [
    'a variable of the gateway',
    { admin: { token: '${ABSENT}' } },
    /^gateway\.admin\.token needs the variable "ABSENT"/,
  ],
])('an object is refused by its keys alone: %s', async (_, gateway, sentence) => {
  const value = Object.keys(gateway).length === 0 ? {} : { servers: {}, gateway }
  await expect(gatewayConfigOf(value, { env: {} })).rejects.toMatchObject({ message: expect.stringMatching(sentence) })
})

test('a file that is no JSON is refused by its line', async () => {
  await expect(readGatewayConfig(fileWith('{\n "servers": }'))).rejects.toThrow('mcp.json is not valid JSON at line 2')
  await expect(readGatewayConfig(join(folder, 'none.json'))).rejects.toMatchObject({ code: 'CONFIG_UNREADABLE' })
  await expect(readGatewayConfig(folder)).rejects.toThrow('(EISDIR); it is a folder; name the file in it.')
})

describe('rules', () => {
  test('are read with their options', async () => {
    const gateway = { deny: [{ if: 'args.amount > 100', reason: 'Too much.', dryRun: true }], allow: [], dryRun: true }
    const { settings } = await gatewayConfigOf({ mcpServers: {}, gateway })
    expect(settings).toMatchObject(gateway)
  })

  test('that do not parse or name what does not exist are reported with their lines', async () => {
    const file = fileWith(`{
      "mcpServers": {},
      "gateway": {
        "deny": [
          { "if": "args.amount >" },
          { "if": "principal.role == 'dev'", "reason": "" },
          { "if": "tool.anotations.destructiveHint", "unless": "x" },
          { "reason": "Never." },
          { "if": "args.text.matches('(a+)+')" },
        ],
        "allow": [{ "if": "sever == 'crm'" }, { "if": "server" }],
        "approve": [{ "if": "true", "by": "managers", "for": "soon" }],
      },
    }`)
    expect(await problemsOf(readGatewayConfig(file, {}))).toEqual([
      'mcp.json:5: gateway.deny[0].if is no valid rule: Unexpected token: EOF (at character 14).',
      'mcp.json:6: gateway.deny[1].if is no valid rule: No such key: role (at character 11).',
      'mcp.json:6: gateway.deny[1].reason must not be empty.',
      'mcp.json:7: gateway.deny[2].if is no valid rule: No such key: anotations (at character 6).',
      'mcp.json:7: gateway.deny[2].unless is not known. It has: if, reason, dryRun.',
      'mcp.json:8: gateway.deny[3] needs "if".',
      'mcp.json:9: gateway.deny[4].if uses matches(), whose regular expressions have no limit of time; write like("…"), where * stands for any characters.',
      'mcp.json:11: gateway.allow[0].if is no valid rule: Unknown variable: sever (at character 1).',
      'mcp.json:11: gateway.allow[1].if must be true or false, and is of the type string.',
      'mcp.json:12: gateway.approve[0].by must name approvers, such as "role:manager" or "sub:ann".',
      'mcp.json:12: gateway.approve[0].for must be a time such as "30s", "15m", "2h" or "1d".',
    ])
  })
})
