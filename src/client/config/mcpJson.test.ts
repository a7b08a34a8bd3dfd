import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { entryNames, readEntry } from './mcpJson.ts'
import { addressOf } from './target.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-mcp-json-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileWith(content: unknown, name = 'mcp.json'): string {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

describe('the files of', () => {
  test('Claude: mcpServers, with defaults for variables', async () => {
    const files = {
      command: '${NODE:-node}',
      args: ['${FILE}', 'x${EMPTY:-y}${SET:-no}', '${:-z}'],
      env: { TOKEN: '${TOKEN}' },
    }
    const file = fileWith({ mcpServers: { files } }, '.mcp.json')
    const env = { FILE: 'server.js', TOKEN: 't', EMPTY: '', SET: 'z' }
    const expected = { command: 'node', args: ['server.js', 'xyz', 'z'], env: { TOKEN: 't' }, cwd: folder }
    expect(await readEntry(file, 'files', env)).toEqual(expected)
  })

  test('Copilot: its variables by their bare names, and no others', async () => {
    const headers = { Authorization: 'Bearer $COPILOT_MCP_TOKEN', 'X-Price': '$5 $HOME' }
    const file = fileWith({ mcpServers: { a: { type: 'http', url: 'https://a.example/mcp', headers } } })
    const entry = await readEntry(file, 'a', { COPILOT_MCP_TOKEN: 't', HOME: '/h' })
    expect(entry).toMatchObject({ headers: { Authorization: 'Bearer t', 'X-Price': '$5 $HOME' } })
    await expect(readEntry(file, 'a', {})).rejects.toMatchObject({ code: 'CONFIG_VARIABLE_MISSING' })
  })

  test('VS Code: servers, comments, env:, its folders, an envFile', async () => {
    writeFileSync(join(folder, 'more.env'), 'FROM_FILE=1\nBOTH=file\n')
    const text = `{
      // the servers of this project
      "inputs": [],
      "servers": {
        "docs": {
          "type": "stdio", "command": "\${workspaceFolder}/run", "args": ["\${userHome}", "\${env:WHO}"],
          "env": { "BOTH": "entry", "PORT": 3000, "GONE": null }, "envFile": "\${workspaceFolder}/more.env", "cwd": "sub",
        },
      },
    }`
    expect(await readEntry(fileWith(text, '.vscode/mcp.json'), 'docs', { WHO: 'Ann' })).toEqual({
      command: `${folder}/run`,
      args: [homedir(), 'Ann'],
      env: { FROM_FILE: '1', BOTH: 'entry', PORT: '3000' },
      cwd: join(folder, 'sub'),
    })
  })

  test("VS Code's settings: mcp.servers", async () => {
    const file = fileWith({ 'editor.tabSize': 2, mcp: { servers: { a: { command: 'a' } } } })
    expect(await readEntry(file, 'a', {})).toEqual({ command: 'a', args: [], env: {}, cwd: folder })
  })

  test('Copilot: headers over HTTP, and a local server', async () => {
    const file = fileWith({
      mcpServers: {
        web: { type: 'http', url: 'https://${HOST}/mcp', headers: { Authorization: 'Bearer ${KEY}' }, tools: ['*'] },
        here: { type: 'local', command: 'here', tools: ['*'] },
      },
    })
    const expected = { url: 'https://example.com/mcp', headers: { Authorization: 'Bearer k' } }
    expect(await readEntry(file, 'web', { HOST: 'example.com', KEY: 'k' })).toEqual(expected)
    expect(await addressOf(`${file}#web`, { HOST: 'example.com', KEY: 'k' })).toEqual(expected)
    expect(await readEntry(file, 'here', {})).toMatchObject({ command: 'here' })
  })

  test.each([
    ['Gemini CLI and Qwen Code: httpUrl', { httpUrl: 'https://${HOST}/mcp', headers: { 'X-Key': 'k' } }],
    ['Windsurf and Antigravity: serverUrl', { serverUrl: 'https://${HOST}/mcp', headers: { 'X-Key': 'k' } }],
    [
      'two programs, each with its own word',
      { url: 'https://a/mcp', serverUrl: 'https://a/mcp', headers: { 'X-Key': 'k' } },
    ],
  ])('%s', async (_, entry) => {
    const file = fileWith({ mcpServers: { entry } }, 'words.json')
    expect(await readEntry(file, 'entry', { HOST: 'a' })).toEqual({ url: 'https://a/mcp', headers: { 'X-Key': 'k' } })
  })

  test.each(['streamable-http', 'streamableHttp'])('Roo Code and Cline: the type %s', async (type) => {
    const file = fileWith({ mcpServers: { web: { type, command: 'a', url: 'https://a/mcp' } } }, 'types.json')
    expect(await readEntry(file, 'web', {})).toEqual({ url: 'https://a/mcp', headers: {} })
  })
})

test('an entry with a container is run by docker, which takes variables from its environment', async () => {
  const entry = { type: 'stdio', container: 'ghcr.io/${ORG}/server', env: { TOKEN: 'secret' }, args: ['--quiet'] }
  expect(await readEntry(fileWith({ mcpServers: { a: entry } }), 'a', { ORG: 'github' })).toMatchObject({
    command: 'docker',
    args: ['run', '-i', '--rm', '-e', 'TOKEN', 'ghcr.io/github/server', '--quiet'],
    env: { TOKEN: 'secret' },
    container: { image: 'ghcr.io/github/server', type: 'stdio' },
  })
})

describe('a file that cannot be used is refused with its place and no value', () => {
  const secret = 'hunter2'
  test.each<[string, unknown, string, RegExp]>([
    [
      'a missing variable',
      { command: 'a', env: { K: '${ABSENT}' } },
      'CONFIG_VARIABLE_MISSING',
      /#a: "env\.K" needs the variable "ABSENT"/,
    ],
    [
      'a missing env: variable',
      { command: 'a', args: ['${env:ABSENT}'] },
      'CONFIG_VARIABLE_MISSING',
      /"args\[0\]" .*"ABSENT"/,
    ],
    [
      'an input',
      { command: 'a', env: { K: '${input:key}' } },
      'CONFIG_VARIABLE_MISSING',
      /"input:key".*Only an editor can ask/,
    ],
    ['no command', { env: { K: secret } }, 'CONFIG_INVALID', /needs a "command", a "url" or a "container"/],
    ['a command that is no string', { command: [secret] }, 'CONFIG_INVALID', /"command" must be a string/],
    ['arguments that are no list', { command: 'a', args: secret }, 'CONFIG_INVALID', /"args" must be a list/],
    ['an argument that is no string', { command: 'a', args: [{}] }, 'CONFIG_INVALID', /"args\[0\]" must be a string/],
    [
      'headers that are no object',
      { url: 'http://a', headers: [secret] },
      'CONFIG_INVALID',
      /"headers" must be an object/,
    ],
    ['an entry that is no object', secret, 'CONFIG_INVALID', /#a must be an object/],
    [
      'an address that is none of the web',
      { url: `ftp://${secret}` },
      'CONFIG_INVALID',
      /mcp\.json#a: "url" must be a complete address/,
    ],
    ['half an address', { url: `http://:${secret}` }, 'CONFIG_INVALID', /#a: "url" must be a complete address/],
    [
      'a command and an address',
      { command: secret, url: 'http://a' },
      'CONFIG_INVALID',
      /#a has a "command" and a "url";/,
    ],
    [
      'a command and the address of another program',
      { command: secret, httpUrl: 'http://a' },
      'CONFIG_INVALID',
      /#a has a "command" and a "httpUrl";/,
    ],
    [
      'two addresses',
      { url: `http://${secret}`, httpUrl: 'http://a', serverUrl: 'http://a' },
      'CONFIG_INVALID',
      /#a has different addresses in "url", "httpUrl" and "serverUrl"; leave in the one that is meant\./,
    ],
    [
      'half an address of another program',
      { serverUrl: `http://:${secret}` },
      'CONFIG_INVALID',
      /#a: "serverUrl" must be a complete address/,
    ],
    ['a missing envFile', { command: 'a', envFile: 'none.env' }, 'CONFIG_UNREADABLE', /none\.env \(ENOENT\)/],
  ])('%s', async (_, entry, code, sentence) => {
    const error = await readEntry(fileWith({ mcpServers: { a: entry } }), 'a', { OTHER: secret }).catch(
      (e: unknown) => e,
    )
    expect(error).toMatchObject({ code, message: expect.stringMatching(sentence) })
    expect((error as Error).message).not.toContain(secret)
  })

  test.each<[string, string, RegExp]>([
    [
      'broken JSON',
      `{ "mcpServers": {\n "a": { "command" "${secret}" } } }`,
      /mcp\.json is not valid JSON at line 2: a colon is expected there\.$/,
    ],
    ['no servers', `{ "servers": "${secret}" }`, /has no servers/],
    ['a list', `["${secret}"]`, /has no servers/],
    ['brackets without an end', '['.repeat(200_000), /nested too deeply/],
    ['another name', '{ "servers": { "b": {}, "": {}, "c": {} } }', /has no server "a"; it has "b", "", "c"\./],
    ['a name of every object', '{ "servers": { } }', /has no server "a"; it has none\./],
  ])('%s', async (_, text, sentence) => {
    const error = await readEntry(fileWith(text), 'a', {}).catch((e: unknown) => e)
    expect(error).toMatchObject({ message: expect.stringMatching(sentence) })
    expect((error as Error).message).not.toContain(secret)
  })

  test('a name of every object is not a server', async () => {
    await expect(readEntry(fileWith({ servers: {} }), 'constructor', {})).rejects.toThrow(/has no server/)
    await expect(readEntry(fileWith({ servers: { a: { command: '${toString}' } } }), 'a', {})).rejects.toThrow(
      /toString/,
    )
  })

  test('a missing file', async () => {
    await expect(addressOf(`${folder}/none.json#a`)).rejects.toMatchObject({ code: 'CONFIG_UNREADABLE' })
  })
})

test.each([
  ['stdio', { command: 'a' }],
  ['local', { command: 'a' }],
  ['http', { url: 'http://a/' }],
])('of a command and an address the type %s chooses', async (type, expected) => {
  const both = { type, command: 'a', url: 'http://a/' }
  expect(await readEntry(fileWith({ servers: { both } }, 'both.json'), 'both', {})).toMatchObject(expected)
})

test('the names of all servers of a file come in its order', async () => {
  const file = fileWith({ mcp: { servers: { a: {} } }, servers: { b: {} }, mcpServers: { c: {}, a: {} } }, 'names.json')
  expect(await entryNames(file)).toEqual(['a', 'b', 'c'])
  const some = fileWith({ servers: { a: { disabled: true, command: 'a' }, b: { disabled: false }, c: 7 } }, 'some.json')
  expect(await entryNames(some)).toEqual(['b', 'c'])
  await expect(entryNames(fileWith({}, 'none.json'))).rejects.toThrow('has no servers')
})

test('an entry for the transport of the first revision says so in its address', async () => {
  const file = fileWith({ servers: { old: { type: 'sse', url: 'http://x/sse' } } }, 'sse.json')
  expect(await readEntry(file, 'old')).toEqual({ url: 'http://x/sse', headers: {}, transport: 'sse' })
})
