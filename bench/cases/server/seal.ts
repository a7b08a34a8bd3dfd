import { spreadOf } from '../../measure/statistics.ts'
import type { SealTiming } from '../../programs/server/seal.ts'
import { type Case, withChild } from '../case.ts'
import { fine } from '../report.ts'

const SIZES = [200, 2_000, 20_000]

/** These figures are printed; none is required. */
export const seal: Case = {
  title: 'seal and open, microseconds each',
  programs: ['seal'],
  run: (bench) =>
    withChild(bench.startProgram('seal'), async (child) => {
      const timings: SealTiming[] = []
      for (const bytes of SIZES) {
        const time = (): Promise<SealTiming> => child.ask('time', { bytes, ms: bench.plan.microMs })
        timings.push(await bench.undisturbed([child], time))
      }
      return { lines: timings.map(line), figures: [], wrong: { count: 0 }, raw: timings }
    }),
}

function line({ bytes, tokenLength, sealMicros, openMicros }: SealTiming): string {
  const text = (values: number[]): string => {
    const { median, low } = spreadOf(values)
    return `${fine(median).padStart(8)} µs (best ${fine(low)})`
  }
  const size = bytes < 1000 ? `${bytes} B` : `${bytes / 1000} KB`
  return `${size.padStart(6)}   seal ${text(sealMicros)}   open ${text(openMicros)}   token of ${tokenLength} characters`
}
