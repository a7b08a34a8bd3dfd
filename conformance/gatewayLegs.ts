/** The suite through a gateway: clients of both eras before our server fixture, and before one of the official SDK. */
import { join } from 'node:path'
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { startFixtures } from './fixtures.ts'
import { startSdkFixture } from './sdkFixture/server.ts'
import { judgeServer, type Result } from './judge.ts'
import { type RequiredRevision, requiredScenarios, runServerSuite } from './suite.ts'

const REVISIONS: readonly RequiredRevision[] = ['2026-07-28', '2025-11-25']
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

export async function runGatewayLegs(folder: string, report: (result: Result) => void): Promise<void> {
  const fixtures = await startFixtures(1)
  const sdk = await startSdkFixture()
  const config = await gatewayConfigOf({ mcpServers: { fixture: { url: fixtures.urls[0] }, sdk: { url: sdk.url } } })
  const gateway = createGateway({ ...config, logger: quiet })
  const { url } = await gateway.listen()
  await gateway.tried()
  for (const revision of REVISIONS) {
    const run = await runServerSuite(`${url}/fixture`, revision, join(folder, `gateway-${revision}`))
    for (const scenario of await requiredScenarios('server', revision))
      report(judgeServer({ who: 'gateway', revision }, scenario, run))
    await runBoth(revision, { direct: sdk.url, behind: `${url}/sdk` }, folder, report)
  }
  await gateway.drain({ deadlineMs: 0 })
  fixtures.stop()
  sdk.stop()
}

/** A server of the official SDK: what it passes by itself it must pass behind the gateway. */
async function runBoth(
  revision: RequiredRevision,
  { direct, behind }: { readonly direct: string; readonly behind: string },
  folder: string,
  report: (result: Result) => void,
): Promise<void> {
  const alone = await runServerSuite(direct, revision, join(folder, `sdk-${revision}`))
  const run = await runServerSuite(behind, revision, join(folder, `gateway-sdk-${revision}`))
  for (const scenario of await requiredScenarios('server', revision)) {
    const result = judgeServer({ who: 'gateway, SDK', revision }, scenario, run)
    const itself = judgeServer({ who: 'SDK', revision }, scenario, alone)
    if (result.verdict === 'passed' || itself.verdict === 'passed') report(result)
    else console.log(`${revision} ${scenario}: ${itself.verdict} also without the gateway`)
  }
}
