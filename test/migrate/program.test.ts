/** `npx pannier-migrate` from the sources: its command line, what it prints, and when it writes. */
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import own from '../../pannier-migrate/package.json' with { type: 'json' }
import manifest from '../../package.json' with { type: 'json' }
import { root } from '../../scripts/repository.ts'
import { projectFolder } from './fixtures/project.ts'

const run = promisify(execFile)
const SERVER = `import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
const seen = new Map<string, number>()
const server = new McpServer({ name: 'a', version: '1' })
server.registerTool('t', { description: 'd' }, async (extra) => {
  seen.set(extra.sessionId ?? '', 1)
  return { content: [] }
})
await server.connect(new StdioServerTransport())
`

interface Ended {
  code: number
  stdout: string
  stderr: string
}

async function migrate(...args: readonly string[]): Promise<Ended> {
  try {
    return { code: 0, ...(await run(process.execPath, [join(root, 'pannier-migrate/src/main.ts'), ...args])) }
  } catch (error) {
    const { code, stdout, stderr } = error as Ended
    return { code, stdout, stderr }
  }
}

const read = (folder: string): string => readFileSync(join(folder, 'server.ts'), 'utf8')

function committed(folder: string): void {
  const git = (...args: readonly string[]): unknown =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: folder })
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '--message', 'before')
}

test('without options it prints a diff and what is left, and writes nothing', async () => {
  const folder = projectFolder({ 'server.ts': SERVER })
  const { code, stdout } = await migrate(folder)
  expect(code).toBe(0)
  expect(stdout).toContain('--- a/server.ts\n+++ b/server.ts\n@@ -1,9 +1,8 @@\n')
  expect(stdout).toContain("-const server = new McpServer({ name: 'a', version: '1' })\n")
  expect(stdout).toContain("+const server = createServer({ name: 'a', version: '1' })\n")
  expect(stdout).toContain('Left by hand (1):\n\nserver.ts:6\n  what  sessionId in a handler\n  why   ')
  expect(stdout).toMatch(/Would move 1 tool, .* Nothing was written; --write does it\.\n$/)
  expect(read(folder)).toBe(SERVER)
})

test('the diff applies: patch makes of the old files what --write makes', async () => {
  const [one, other] = [projectFolder({ 'server.ts': SERVER }), projectFolder({ 'server.ts': SERVER })]
  const { stdout } = await migrate(one)
  const patch = stdout.slice(0, stdout.indexOf('Left by hand'))
  execFileSync('git', ['apply', '--unidiff-zero', '-'], { cwd: one, input: patch })
  await migrate(other, '--write', '--force')
  expect(read(one)).toBe(read(other))
})

test('--write writes a project that git has whole, and says where the places left are now', async () => {
  const folder = projectFolder({ 'server.ts': SERVER })
  committed(folder)
  const { code, stdout } = await migrate(folder, '--write')
  expect(code).toBe(0)
  expect(stdout).toContain('server.ts:5\n  what  sessionId in a handler')
  expect(stdout).toContain('Next: npm install')
  expect(read(folder)).toContain("createServer({ name: 'a', version: '1' })")
})

test('changes that git does not have are not written over without --force', async () => {
  const folder = projectFolder({ 'server.ts': SERVER })
  committed(folder)
  writeFileSync(join(folder, 'notes.txt'), '')
  const refused = await migrate(folder, '--write')
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'git has changes that are not committed: ?? notes.txt. Commit or stash them, or give --force.\n',
  ])
  expect(read(folder)).toBe(SERVER)
  expect((await migrate(folder, '--write', '--force')).code).toBe(0)
})

test('a folder that is in no repository is not written without --force', async () => {
  const folder = projectFolder({ 'server.ts': SERVER })
  const { code, stderr } = await migrate(folder, '--write')
  expect([code, stderr]).toEqual([
    1,
    `${folder} is in no git repository, so that nothing could be taken back. Add it to one, or give --force.\n`,
  ])
})

test('init says what a server has, what keeps it to one process, and changes nothing', async () => {
  const folder = projectFolder({ 'server.ts': SERVER })
  const { stdout } = await migrate('init', folder)
  expect(stdout).toContain('Found a server of @modelcontextprotocol/sdk.')
  expect(stdout).toContain(
    '  moves by itself   1 tool, 0 prompts, 0 resources, 0 questions\n  left by hand      1 place\n',
  )
  expect(stdout).toContain('  needs a session\n    server.ts:6 sessionId in a handler\n')
  expect(stdout).toContain('  keeps state in the process\n    server.ts:3 seen\n')
  expect(stdout).toContain('The shorter way: move the server.')
  expect(stdout).toContain(`Next: npx pannier-migrate ${folder} shows each change`)
  expect(read(folder)).toBe(SERVER)
})

test('init names pannier/sdk where more of a server of version 2 is left than moves', async () => {
  const server = `import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
const server = new McpServer({ name: 'a', version: '1' }, options)
server.server.oninitialized = () => {}
export default createMcpHandler((request) => server)
`
  const { stdout } = await migrate('init', projectFolder({ 'server.ts': server }))
  expect(stdout).toContain(
    'The shorter way: keep the SDK, and wrap the tools that ask with withJournal of pannier/sdk.',
  )
})

test.each([
  [['--wirte'], "Unknown option '--wirte'. npx pannier-migrate --help lists the options."],
  [['one', 'two'], 'One folder is enough; two is too much. npx pannier-migrate --help lists the options.'],
  [['--write', '--dry-run'], '--write and --dry-run exclude each other. npx pannier-migrate --help lists the options.'],
])('%j is refused with a sentence', async (args, sentence) => {
  expect(await migrate(...args)).toEqual({ code: 1, stdout: '', stderr: `${sentence}\n` })
})

test('a folder without package.json, and one without a server, are refused with a sentence', async () => {
  const folder = projectFolder({ 'a.ts': 'export const a = 1\n' })
  expect((await migrate(join(folder, 'none'))).stderr).toContain('There is no package.json in')
  expect((await migrate(folder)).stderr).toContain(
    'imports @modelcontextprotocol/sdk, @modelcontextprotocol/server or fastmcp.',
  )
})

test('the version is that of the package', async () => {
  expect((await migrate('--version')).stdout).toBe(`${manifest.version}\n`)
  expect([own.version, own.engines]).toEqual([manifest.version, manifest.engines])
  expect(own.dependencies['oxc-parser']).toBe(manifest.devDependencies['oxc-parser'])
})
