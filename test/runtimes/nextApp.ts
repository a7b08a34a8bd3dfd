/** The checked servers behind a route handler of Next.js, built and started as in production. */
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { root } from '../../scripts/repository.ts'
import { inFolder } from './installed.ts'
import { type Place, startServer } from './places.ts'

const run = promisify(execFile)

const ROUTE = `
import { checkedServers } from '../../checked.mjs'

let serve
const handler = (request) => (serve ??= checkedServers(JSON.parse(process.env.GIVEN)).fetch)(request)

export const dynamic = 'force-dynamic'
export { handler as GET, handler as POST, handler as DELETE }
`
const LAYOUT = `export default ({ children }) => <html><body>{children}</body></html>`

export const next: Place = {
  name: 'Next.js, route handler',
  without: {},
  async start(given) {
    const app = inFolder('app')
    rmSync(app, { recursive: true, force: true })
    mkdirSync(join(app, 'app/[...path]'), { recursive: true })
    writeFileSync(join(app, 'app/layout.jsx'), LAYOUT)
    writeFileSync(join(app, 'app/[...path]/route.js'), ROUTE)
    writeFileSync(join(app, 'package.json'), '{"private":true}')
    writeFileSync(
      join(app, 'next.config.mjs'),
      `export default { turbopack: { root: ${JSON.stringify(inFolder('.'))} } }`,
    )
    symlinkSync(inFolder('node_modules'), join(app, 'node_modules'))
    await bundleInto(join(app, 'checked.mjs'))
    const program = inFolder('node_modules/next/dist/bin/next')
    await run(process.execPath, [program, 'build'], { cwd: app, env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' } })
    const port = await freePort()
    const command = [process.execPath, program, 'start', '--port', String(port), '--hostname', '127.0.0.1']
    return startServer(command, given, { cwd: app, ready: /Ready/, base: `http://127.0.0.1:${port}` })
  },
}

async function bundleInto(file: string): Promise<void> {
  const build = await rolldown({
    input: join(root, 'test/runtimes/programs/checked.ts'),
    platform: 'node',
    resolve: { conditionNames: ['pannier-source', 'module', 'node', 'import', 'default'] },
  })
  await build.write({ file, format: 'esm', codeSplitting: false })
  await build.close()
}

async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
