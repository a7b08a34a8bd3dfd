// `npm run conformance`: the official suite against our server, its tasks and our client. `-- server`, `-- tasks` or
// `-- client` runs one part; `-- older` and `-- gateway` are the parts that `npm run test:long` adds.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import '../scripts/compileCache.ts'
import { isLong } from '../test/amount.ts'
import bundlePrograms from '../test/bundle/build.ts'
import { runClientLegs } from './clientLegs.ts'
import { runGatewayLegs } from './gatewayLegs.ts'
import type { Result } from './judge.ts'
import { runOlderLegs } from './olderLegs.ts'
import { runServerLegs } from './serverLegs.ts'
import { heading, line } from './table.ts'
import { runTaskLegs } from './taskLegs.ts'

const sides = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'pannier-conformance-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const results: Result[] = []
function report(result: Result): void {
  results.push(result)
  console.log(line(result))
}

await bundlePrograms()
console.log(heading())
if (sides.length === 0 || sides.includes('server')) await runServerLegs(folder, report)
if ((sides.length === 0 && isLong) || sides.includes('older')) await runOlderLegs(folder, report)
if ((sides.length === 0 && isLong) || sides.includes('gateway')) await runGatewayLegs(folder, report)
if (sides.length === 0 || sides.includes('tasks')) await runTaskLegs(folder, report)
if (sides.length === 0 || sides.includes('client')) await runClientLegs(folder, report)

const passed = results.filter(({ verdict }) => verdict === 'passed').length
console.log(`\nconformance: ${passed} passed, ${results.length - passed} failed`)
process.exitCode = results.length > 0 && passed === results.length ? 0 : 1
