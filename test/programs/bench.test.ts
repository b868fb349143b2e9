/** The bench of facts: what it says of one that is missed, and the exit code. */
import { spawnSync } from 'node:child_process'
import { expect } from 'chai'
import { Ledger } from '../../tools/bench/ledger.ts'

describe('bench of facts', () => {
  it('ends with exit code 1 where a fact is missed, and names it, its limit and what was measured', function () {
    this.timeout(120_000)
    const args = 'tools/bench/main.ts --facts --database sqlite --rows 1000 --limits 0.1'.split(' ')
    const { status, stdout } = spawnSync(process.execPath, ['--no-warnings', ...args], { encoding: 'utf8' })
    expect(stdout).to.match(/^sqlite: bytes an impersonation +60 B +\d+(\.\d+)? B +MISSED$/m)
    expect(stdout).to.match(/^\d+ MISSED\.$/m)
    expect(status).to.equal(1)
  })

  it('holds up to a limit, misses what could not be measured, and fails nothing by an aim', () => {
    const ledger = new Ledger(1)
    ledger.of('sqlite').atMost('bytes', 600, 600, ' B')
    ledger.of('sqlite').aim('milliseconds', 3, 2)
    expect(ledger.missed).to.equal(0)
    expect(ledger.table())
      .to.match(/sqlite: bytes +600 B +600 B +holds/)
      .and.include('aim missed')
    ledger.of('sqlite').atMost('bytes', Number.NaN, 600)
    expect(ledger.missed).to.equal(1)
  })
})
