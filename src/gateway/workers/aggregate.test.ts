import { expect, test } from 'vitest'
import { aggregateHealth, aggregateMetrics, aggregateServers } from './aggregate.ts'
import type { WorkerState } from './workers.ts'

function state(worker: number, up: boolean, links: number, more: Partial<WorkerState['report']> = {}): WorkerState {
  const warnings = ['It keeps something.', ...(up ? [] : ['It is not there.'])]
  const condition = up ? 'up' : 'down'
  return {
    worker,
    pid: worker * 10,
    hasStarted: true,
    report: {
      health: { live: true, ready: up, servers: 1, leftOut: 1, up: up ? 1 : 0, warnings },
      servers: [
        { name: 'one', condition, links },
        { name: 'gone', condition: 'left out', why: 'A variable is missing.' },
      ],
      metrics: undefined,
      ...more,
    },
  }
}

test('a server is up where all workers reach it, and what only some say has their number', () => {
  const health = aggregateHealth([state(1, true, 2), state(2, false, 3)])
  expect(health).toMatchObject({ live: true, ready: true, servers: 1, leftOut: 1, up: 0 })
  expect(health['warnings']).toEqual(['It keeps something.', 'Worker 2: It is not there.'])
  expect(aggregateHealth([state(1, true, 2), state(2, true, 3)])).toMatchObject({ up: 1 })
  expect(aggregateServers([state(1, true, 2), state(2, false, 3)])).toEqual([
    {
      name: 'one',
      condition: 'down',
      links: 5,
      workers: [
        { worker: 1, condition: 'up', links: 2 },
        { worker: 2, condition: 'down', links: 3 },
      ],
    },
    {
      name: 'gone',
      condition: 'left out',
      why: 'A variable is missing.',
      workers: [
        { worker: 1, condition: 'left out' },
        { worker: 2, condition: 'left out' },
      ],
    },
  ])
})

test('a worker that is not there is told of, and the gateway is as ready as the others', () => {
  const starting = { worker: 2, pid: undefined, hasStarted: false, report: undefined }
  const health = aggregateHealth([state(1, true, 0), starting])
  expect(health).toMatchObject({ ready: true, up: 1, workers: [{ isServing: true }, { isServing: false }] })
  expect(health['warnings']).toContain('Worker 2 is not there, and is started again. The others serve.')
  expect(aggregateHealth([starting])).toMatchObject({ ready: false, servers: 0 })
})

test('a worker that stands still is not said to be started again', () => {
  const { warnings } = aggregateHealth([state(1, true, 0), { ...state(2, true, 0), report: undefined }])
  expect(warnings).toContain(
    'Worker 2 does not answer. If that lasts, end its process (20), and another one is started.',
  )
})

test('measurements have the number of their worker, and one head', () => {
  const head = '# HELP calls Calls\n# TYPE calls counter\n'
  const metrics = `${head}calls{tool="a } b",le="1"} 3\n# HELP up Up\n# TYPE up gauge\nup 1\n`
  const text = aggregateMetrics([
    state(1, true, 0, { metrics }),
    state(2, true, 0, { metrics: `${head}calls{tool="c"} 4 1700000000\n` }),
    state(3, true, 0),
  ])
  expect(text).toBe(
    [
      '# HELP calls Calls',
      '# TYPE calls counter',
      'calls{worker="1",tool="a } b",le="1"} 3',
      'calls{worker="2",tool="c"} 4 1700000000',
      '# HELP up Up',
      '# TYPE up gauge',
      'up{worker="1"} 1',
      '',
    ].join('\n'),
  )
})
