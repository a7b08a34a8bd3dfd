// Packs both packages, serves them as a registry would, and does with each template what a person does: npm create, npm run dev, a
// call that is answered, the type check and the test. Prints the seconds from the first command to the result of the tool.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import creator from '../create-pannier/package.json' with { type: 'json' }
import { TEMPLATE_NAMES, type TemplateName } from '../create-pannier/src/templates.ts'
import manifest from '../package.json' with { type: 'json' }
import { answeredCall, serve } from '../test/create/fixtures/calls.ts'
import { type Published, startRegistry } from '../test/create/fixtures/registry.ts'
import { freePort } from '../test/fixtures/httpHost.ts'
import { root } from './repository.ts'

const execute = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'pannier-created-'))

async function run(
  cwd: string,
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const { stdout } = await execute(program, args, { cwd, env: { ...process.env, ...env } })
  return stdout
}

async function pack(path: string, packed: Published['manifest']): Promise<Published> {
  await run(path, ['npm', 'pack', '--pack-destination', folder])
  return { manifest: packed, tarball: join(folder, `${packed.name}-${packed.version}.tgz`) }
}

/** Starts the project as its README says, and calls the tool that asks. Gives the text of the result. */
async function callTool(template: TemplateName, project: string): Promise<string | undefined> {
  const call = (to: Parameters<typeof answeredCall>[0], name = 'delete_branch') =>
    answeredCall(to, name, { branch: 'old-idea' }, { sure: true })
  if (template === 'stdio') {
    const transport = new StdioClientTransport({
      command: 'node',
      args: [join(project, 'src/stdio.ts')],
      stderr: 'ignore',
    })
    return (await call(transport)).text
  }
  const [port, other] = [String(await freePort()), String(await freePort())]
  const command = template === 'workers' ? ['npx', 'wrangler', 'dev', '--port', port] : ['npm', 'run', 'dev']
  const env =
    template === 'gateway'
      ? { GATEWAY_PORT: port, PORT: other, RELEASES_URL: `http://127.0.0.1:${other}/mcp` }
      : { PORT: port }
  const served = await serve(project, command, env)
  try {
    const name = template === 'gateway' ? 'branches_delete_branch' : 'delete_branch'
    return (await call(`http://127.0.0.1:${port}/mcp`, name)).text
  } finally {
    await served.close()
  }
}

/** Follows the Dockerfile of a server in a folder of its own, without Docker, and calls the tool there. */
async function callInImage(project: string, npm: NodeJS.ProcessEnv): Promise<string | undefined> {
  const image = join(folder, 'image')
  mkdirSync(image)
  const port = String(await freePort())
  let command: string[] = []
  for (const line of readFileSync(join(project, 'Dockerfile'), 'utf8').split('\n')) {
    const [instruction, ...words] = line.split(' ')
    if (instruction === 'RUN') await run(image, ['sh', '-c', words.join(' ')], { ...npm, NODE_ENV: 'production' })
    if (instruction === 'CMD') command = JSON.parse(words.join(' ')) as string[]
    if (instruction !== 'COPY') continue
    for (const path of words.slice(0, -1)) cpSync(join(project, path), join(image, path), { recursive: true })
  }
  const served = await serve(image, command, { NODE_ENV: 'production', PORT: port })
  try {
    return (await answeredCall(served.url, 'delete_branch', { branch: 'old-idea' }, { sure: true })).text
  } finally {
    await served.close()
  }
}

function assertDeleted(where: string, text: string | undefined): void {
  if (!text?.startsWith('The branch old-idea was deleted')) throw new Error(`${where}: the tool answered ${text}`)
}

const usual = (await run(root, ['npm', 'config', 'get', 'registry'])).trim()
const packages = [await pack(root, manifest), await pack(join(root, 'create-pannier'), creator)]
const registry = await startRegistry(packages, usual)
try {
  const npm = {
    npm_config_registry: registry.origin,
    npm_config_cache: join(folder, 'cache'), // else npm would start a creator of this version that it has from before
    npm_config_yes: 'true',
  }
  for (const template of TEMPLATE_NAMES) {
    const project = join(folder, template)
    const startedAt = performance.now()
    await run(folder, ['npm', 'create', 'pannier', template, '--', '--template', template, '--yes'], npm)
    assertDeleted(template, await callTool(template, project))
    const seconds = (performance.now() - startedAt) / 1000
    await run(project, ['npm', 'run', 'types'])
    await run(project, ['npm', 'test'])
    console.log(`${template}: ${seconds.toFixed(1)} s from npm create to the result of the tool`)
  }
  assertDeleted('Dockerfile', await callInImage(join(folder, 'http'), npm))
} finally {
  registry.close()
  rmSync(folder, { recursive: true, force: true })
}
