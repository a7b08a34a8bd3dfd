// Runs deploy/Dockerfile without Docker: its steps in chroots over this machine's Debian, then the gateway as the image starts it.
// Checks that it is not root, writes nowhere but to /tmp, is found healthy, and ends at SIGTERM with its call answered. Needs root.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { startContainer, untilDefined } from './deploy/container.ts'
import { jsonWords, stagesOf } from './deploy/dockerfile.ts'
import { buildImage } from './deploy/imageRoot.ts'
import { readText } from './repository.ts'

/** Answers when there is a file /tmp/go. */
const SLOW = `
import { existsSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  if (method === 'initialize')
    return answer(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'slow', version: '1' } })
  if (method === 'tools/list') return answer(id, { tools: [{ name: 'wait', inputSchema: { type: 'object' } }] })
  if (method !== 'tools/call') return answer(id, {})
  writeFileSync('/tmp/began', '')
  const looking = setInterval(() => {
    if (!existsSync('/tmp/go')) return
    clearInterval(looking)
    answer(id, { content: [{ type: 'text', text: 'waited' }] })
  }, 20)
})
`
const FILE = { mcpServers: { slow: { command: 'node', args: ['/etc/pannier/slow.mjs'] } } }

function check(sentence: string, isTrue: boolean): void {
  console.log(`${isTrue ? 'yes' : 'NO '}  ${sentence}`)
  if (!isTrue) process.exitCode = 1
}

async function tryImage(folder: string): Promise<void> {
  const startedAt = performance.now()
  const stages = stagesOf(readText('deploy/Dockerfile'))
  const [final] = stages.slice(-1)
  if (final === undefined) throw new Error('deploy/Dockerfile has no stage.')
  const image = buildImage(stages, folder)
  console.log(`The image was made in ${((performance.now() - startedAt) / 1000).toFixed(0)} s.`)

  const container = await startContainer(image, {
    command: [...jsonWords(final, 'ENTRYPOINT'), ...jsonWords(final, 'CMD'), '--insecure'],
    files: { '/etc/pannier/mcp.json': JSON.stringify(FILE), '/etc/pannier/slow.mjs': SLOW },
    env: {},
  })
  const { pid, output, run, exec, exited } = container
  const health = jsonWords(final, 'HEALTHCHECK')
  await untilDefined(() => (run(health) === 0 ? true : undefined)).catch(() => console.log(output()))
  check('the health check of the image passes', run(health) === 0)

  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  check(`the process is user ${image.user}`, status.includes(`Uid:\t${image.user.split(':')[0]}\t`))
  check('it has no capabilities', /^CapEff:\t0+$/m.test(status) && /^CapBnd:\t0+$/m.test(status))
  check('it cannot write to its own folder', run(['touch', '/srv/pannier/file']) !== 0)
  check('it can write to /tmp', run(['touch', '/tmp/file']) === 0)

  const call = exec(['node', '/srv/pannier/bin/pannier.js', 'call', 'http://127.0.0.1:8931/mcp', 'slow_wait'])
  const answered = call.stdout === null ? Promise.resolve(Buffer.of()) : buffer(call.stdout)
  const tmp = join(image.path, 'tmp')
  await untilDefined(() => (existsSync(join(tmp, 'began')) ? true : undefined))
  process.kill(pid, 'SIGTERM')
  await untilDefined(() => (output().includes('"Draining."') ? true : undefined))
  writeFileSync(join(tmp, 'go'), '')
  check('a call under way at SIGTERM is answered', String(await answered).trim() === 'waited')
  check('it ends with exit code 0', (await exited) === 0)
  console.log(`${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
}

/** The variable with the folder in which the process with mounts of its own works. */
const FOLDER = 'PANNIER_IMAGE_FOLDER'

/** Runs itself with mounts of its own. They go when that process ends, and only then is the folder below them removed. */
function inOwnMounts(): void {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-image-'))
  const self = ['--mount', process.execPath, ...process.execArgv, import.meta.filename]
  const { status } = spawnSync('unshare', self, { stdio: 'inherit', env: { ...process.env, [FOLDER]: folder } })
  process.exitCode = status ?? 1
  if (!readFileSync('/proc/mounts', 'utf8').includes(folder)) rmSync(folder, { recursive: true, force: true })
}

const folder = process.env[FOLDER]
if (process.getuid?.() !== 0)
  console.log('The image was not tried: that needs root, for chroots and overlays of files.')
else if (folder === undefined) inOwnMounts()
else await tryImage(folder)
