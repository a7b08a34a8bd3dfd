import { expect, test } from 'vitest'
import { proves } from '../../../test/proves.ts'
import { guessFromMetadata, metadataOf, type Metadata } from './metadata.ts'
import { KNOWN_SERVERS } from '../knownServers.ts'
import { levelOf } from './result.ts'

proves('DT-14', 'metadata are read in their order: known servers, transport, image; else nothing is known', () => {
  const cases: [Metadata, string, number][] = [
    [{ type: 'stdio', container: 'ghcr.io/github/github-mcp-server:latest' }, 'STATELESS', 0.95],
    [{ type: 'http', container: 'oraios/Serena-MCP-Server' }, 'STATEFUL', 0.95],
    [{ type: 'stdio', command: 'docker', args: ['run', 'ghcr.io/github/github-mcp-server'] }, 'STATELESS', 0.95],
    [{ type: 'stdio', command: 'uvx', args: ['serena-mcp-server'] }, 'STATEFUL', 0.95],
    [{ type: 'http' }, 'STATELESS', 0.8],
    [{ type: 'stdio' }, 'STATEFUL', 0.7],
    [{ type: 'stdio', container: 'node:22' }, 'STATEFUL', 0.7],
    [{ container: 'example/TypeScript-server' }, 'STATELESS', 0.6],
    [{ container: 'node:22' }, 'STATELESS', 0.6],
    [{ container: 'Local-Python-tools' }, 'STATEFUL', 0.6],
    [{ container: 'python:3' }, 'UNKNOWN', 0],
    [{}, 'UNKNOWN', 0],
  ]
  for (const [metadata, state, confidence] of cases) {
    expect(guessFromMetadata(metadata), JSON.stringify(metadata)).toMatchObject({ state, confidence, accuracy: 0.5 })
  }
})

proves('DT-15', 'a confidence above 0.9 is high, from 0.6 to 0.9 medium, and below low', () => {
  const levels = [0, 0.3, 0.59, 0.6, 0.7, 0.9, 0.91, 0.95, 1].map(levelOf)
  expect(levels).toEqual(['low', 'low', 'low', 'medium', 'medium', 'medium', 'high', 'high', 'high'])
})

test('what a user knows comes before what we know', () => {
  const mine = [
    { match: 'github-mcp-server', state: 'STATEFUL', confidence: 0.4, because: 'Ours is patched.' },
  ] as const
  expect(guessFromMetadata({ container: 'github-mcp-server' }, mine)).toMatchObject({
    state: 'STATEFUL',
    confidence: 0.4,
    message: 'It is known as github-mcp-server. Ours is patched.',
  })
})

test.each([
  ['npx -y @playwright/mcp@latest --headless'],
  ['docker run -i --rm mcr.microsoft.com/playwright/mcp'],
  ['npx chrome-devtools-mcp@latest'],
  ['npx -y @modelcontextprotocol/server-puppeteer'],
  ['docker run -i --rm mcp/puppeteer'],
  ['npx -y @modelcontextprotocol/server-sequential-thinking'],
  ['docker run --rm -i mcp/sequentialthinking'],
  ['npx -y @modelcontextprotocol/server-everything streamableHttp'],
  ['docker run -i --rm mcp/everything'],
  ['npx -y mongodb-mcp-server@latest --readOnly'],
])('%s is known to keep something in its process', (line) => {
  const [command = '', ...args] = line.split(' ')
  expect(guessFromMetadata(metadataOf({ command, args }))).toMatchObject({ state: 'STATEFUL', confidence: 0.95 })
})

test.each([
  ['npx -y @modelcontextprotocol/server-memory'],
  ['npx -y @modelcontextprotocol/server-filesystem /home/ann'],
  ['npx -y @modelcontextprotocol/server-github'],
])('nothing is known of %s beforehand', (line) => {
  const [command = '', ...args] = line.split(' ')
  expect(guessFromMetadata(metadataOf({ command, args })).confidence).toBe(0.7)
})

test('the address of a server gives its metadata', () => {
  expect(metadataOf({ url: 'https://example.com/mcp' })).toEqual({ type: 'http', url: 'https://example.com/mcp' })
  expect(metadataOf({ command: 'npx', args: ['x'] })).toEqual({ type: 'stdio', command: 'npx', args: ['x'] })
})

test('every known server says how it is known', () => {
  for (const { match, because } of KNOWN_SERVERS) expect(because, match).toMatch(/^[A-Z].*\.$/)
})

test.each([
  ['npx -y mcp-remote https://example.com/github-mcp-server'],
  ['npx other-server --like @playwright/mcp'],
  ['node /srv/github-mcp-server/start.js'],
  ['docker run -i --name github-mcp-server other/image'],
  ['npx my-github-mcp-server-proxy'],
])('%s is not known: no argument, folder or part of a name counts', (line) => {
  const [command = '', ...args] = line.split(' ')
  expect(guessFromMetadata(metadataOf({ command, args })).confidence).toBe(0.7)
})

test.each([
  ['node /x/node_modules/@playwright/mcp/cli.js --headless', 'playwright/mcp'],
  ['docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server:v1', 'github-mcp-server'],
  ['/usr/local/bin/github-mcp-server stdio', 'github-mcp-server'],
  ['uvx --from git+https://github.com/oraios/serena serena-mcp-server', 'serena-mcp-server'],
  ['pnpm dlx chrome-devtools-mcp@1.2.3', 'chrome-devtools-mcp'],
])('%s is known as %s', (line, name) => {
  const [command = '', ...args] = line.split(' ')
  expect(guessFromMetadata(metadataOf({ command, args })).message).toContain(`It is known as ${name}.`)
})

test('of an address the host is a name, and its path is none', () => {
  const known = [{ match: 'mcp.example.com', state: 'STATEFUL' }] as const
  expect(guessFromMetadata({ type: 'http', url: 'https://MCP.example.com/x' }, known).confidence).toBe(0.95)
  const byPath = guessFromMetadata({ type: 'http', url: 'https://example.com/github-mcp-server' })
  expect(byPath).toMatchObject({ state: 'STATELESS', confidence: 0.8 })
})
