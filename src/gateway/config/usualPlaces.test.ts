import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { usualPlaces } from './index.ts'
import { candidates } from './usualPlaces.ts'

const home = mkdtempSync(join(tmpdir(), 'pannier-usual-places-'))
const cwd = join(home, "Ann's project")
afterAll(() => rmSync(home, { recursive: true, force: true }))

function write(path: string, content: unknown): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
}

test('files that have servers are found, counted and named with the command that serves them', async () => {
  const servers = { a: { command: 'a' }, b: { command: 'b' }, c: { command: 'c', disabled: true } }
  write(join(cwd, '.mcp.json'), { mcpServers: servers })
  write(join(cwd, '.vscode/mcp.json'), '{ "servers": ')
  write(join(home, '.claude.json'), { numStartups: 7 })
  write(join(home, '.config/Claude/claude_desktop_config.json'), { mcpServers: {} })
  write(join(home, '.config/Code/User/settings.json'), { mcp: { servers } })
  mkdirSync(join(home, '.cursor/mcp.json'), { recursive: true })
  const places = await usualPlaces({ platform: 'linux', home, cwd, env: {} })
  const quote = (file: string): string => `'${file.replace("'", "'\\''")}'`
  expect(places).toEqual([
    {
      program: 'Claude Code',
      file: join(cwd, '.mcp.json'),
      servers: 2,
      command: `pannier gateway ${quote(join(cwd, '.mcp.json'))}`,
    },
    {
      program: 'VS Code',
      file: join(cwd, '.vscode/mcp.json'),
      servers: { problem: expect.stringMatching(/is not valid JSON at line 1/) },
      command: expect.any(String),
    },
    {
      program: 'VS Code',
      file: join(home, '.config/Code/User/settings.json'),
      servers: 2,
      command: `pannier gateway ${join(home, '.config/Code/User/settings.json')}`,
    },
  ])
})

test.each<[NodeJS.Platform, Record<string, string>, string]>([
  ['darwin', {}, '/home/ann/Library/Application Support/Claude/claude_desktop_config.json'],
  ['linux', {}, '/home/ann/.config/Claude/claude_desktop_config.json'],
  ['linux', { XDG_CONFIG_HOME: '/x' }, '/x/Claude/claude_desktop_config.json'],
  ['win32', { APPDATA: 'C:\\Users\\ann\\R' }, 'C:\\Users\\ann\\R\\Claude\\claude_desktop_config.json'],
  ['win32', {}, '\\home\\ann\\AppData\\Roaming\\Claude\\claude_desktop_config.json'],
])('on %s with %j Claude Desktop has %s', (platform, env, file) => {
  const files = candidates({ platform, env, home: '/home/ann', cwd: '/project' })
  expect(files).toContainEqual({ program: 'Claude Desktop', file })
})

test('Gemini CLI has its servers in the settings of a folder and of the user', () => {
  const files = candidates({ platform: 'linux', env: {}, home: '/h', cwd: '/project' })
  for (const folder of ['/project', '/h'])
    expect(files).toContainEqual({ program: 'Gemini CLI', file: `${folder}/.gemini/settings.json` })
})

test('a file is named once, also in the home folder', () => {
  const files = candidates({ platform: 'linux', env: {}, home: '/h', cwd: '/h' }).map(({ file }) => file)
  expect(new Set(files).size).toBe(files.length)
})
