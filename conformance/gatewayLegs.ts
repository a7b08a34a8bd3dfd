/** The suite against our server fixture through a gateway: clients of both eras before a server of the stateless era. */
import { join } from 'node:path'
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { startFixtures } from './fixtures.ts'
import { judgeServer, type Result } from './judge.ts'
import { type RequiredRevision, requiredScenarios, runServerSuite } from './suite.ts'

const REVISIONS: readonly RequiredRevision[] = ['2026-07-28', '2025-11-25']
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

export async function runGatewayLegs(folder: string, report: (result: Result) => void): Promise<void> {
  const fixtures = await startFixtures(1)
  const config = await gatewayConfigOf({ mcpServers: { fixture: { url: fixtures.urls[0] } } })
  const gateway = createGateway({ ...config, logger: quiet })
  const { url } = await gateway.listen()
  await gateway.tried()
  for (const revision of REVISIONS) {
    const run = await runServerSuite(`${url}/fixture`, revision, join(folder, `gateway-${revision}`))
    for (const scenario of await requiredScenarios('server', revision))
      report(judgeServer({ who: 'gateway', revision }, scenario, run))
  }
  await gateway.drain({ deadlineMs: 0 })
  fixtures.stop()
}
