/** Gateways that are stopped and started again, one after the other, while clients of both eras call servers of both. */
import { expect, onTestFinished, test } from 'vitest'
import { amount, isLong } from '../amount.ts'
import { type RollingOutcome, type RollingPlan, rollUnderLoad } from './rollingGateways.ts'

/** In the short form each of two gateways is restarted once. */
const stops = amount(2, 12)

async function roll(plan: Omit<RollingPlan, 'until'>): Promise<RollingOutcome> {
  const ends: (() => unknown)[] = []
  onTestFinished(async () => {
    for (const end of ends) await end()
  })
  const outcome = await rollUnderLoad({ ...plan, until: (end) => void ends.unshift(end) })
  expect(outcome).toMatchObject({ gone: 0, doubled: 0, stops: plan.stops })
  expect(outcome.calls).toBeGreaterThan(30)
  expect(outcome.lingeredMs.filter((ms) => ms > 15_000)).toEqual([]) // of the minute that an unread answer has
  return outcome
}

const patience = amount(120_000, 300_000)

const PLANS: readonly Omit<RollingPlan, 'until'>[] = [
  { gateways: amount(2, 3), balancer: 'plain', stops, atOnce: amount(1, 2) },
  { gateways: 2, balancer: 'retries', stops, atOnce: 1 },
  { gateways: 2, balancer: 'checks', stops, atOnce: 1 },
]

// The hardest of them is the balancer that does not notice a stop.
test.each(isLong ? PLANS : PLANS.slice(0, 1))(
  '$gateways gateways that are restarted in turn behind a balancer ($balancer) fail no call',
  async (plan) => {
    expect(await roll(plan)).toMatchObject({ failed: 0, reasons: new Map() })
  },
  patience,
)

// The first process of a gateway with workers resets connections that nobody has accepted when the last worker has ended.
test(
  'gateways with workers that are restarted in turn run no call twice, and fail no more than one in a hundred',
  async () => {
    const { failed, calls } = await roll({
      gateways: 2,
      balancer: 'checks',
      stops,
      atOnce: 1,
      args: ['--workers', '2'],
    })
    expect(failed).toBeLessThanOrEqual(Math.ceil(calls / 100))
  },
  patience,
)
