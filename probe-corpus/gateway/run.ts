// `npm run gateway:servers`: real servers from npm behind one `pannier gateway`, each called through /mcp by official clients.
// `-- name` takes only servers with that in their name; `-- --write` writes docs/reference/gateway-servers.md. Ends with 1 when a
// call through the gateway ends otherwise than the same call without it.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import '../../scripts/compileCache.ts'
import { alignColumns } from '../../src/cli/output/layout.ts'
import { installPackages } from '../packages.ts'

installPackages()
installPackages(join(import.meta.dirname, 'packages'))

// They read the manifests of the packages, so they are imported after the installation.
const { SERVERS } = await import('./servers.ts')
const { serveAndCall } = await import('./serve.ts')
const { gatewayRows, summaryOf } = await import('./page.ts')
const { table, withResults } = await import('../resultsPage.ts')

const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const chosen = SERVERS.filter(({ name }) => names.length === 0 || names.some((part) => name.includes(part)))

const { served, startSeconds, listed } = await serveAndCall(chosen)
const rows = gatewayRows(served)
const summary = summaryOf(served, { startSeconds, listed })
console.log(`${alignColumns(rows)}\n\n${summary}`)
for (const { server, calls, direct, isRight } of served)
  if (!isRight) console.log(`${server.name}: ${JSON.stringify({ calls, direct }, null, 2)}`)

if (process.argv.includes('--write')) {
  const path = join(import.meta.dirname, '../../docs/reference/gateway-servers.md')
  writeFileSync(path, withResults(readFileSync(path, 'utf8'), `${summary}\n\n${table(rows)}`, 'servers'))
}
process.exitCode = served.every(({ isRight }) => isRight) && served.length > 0 ? 0 : 1
