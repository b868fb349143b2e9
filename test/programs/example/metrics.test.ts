/** `/metrics` of the example, when it is asked to serve it. */
import { expect } from 'chai'
import { serveMetrics } from '../../../example/metrics.ts'
import { freePort } from '../../../fixtures/server-process.ts'
import { countReplay } from '../../../src/metrics/metrics.ts'

describe('example: metrics', () => {
  it('are served in the text format of Prometheus, and no longer once it is closed', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/metrics`
    const metrics = await serveMetrics(port)
    try {
      countReplay('now', false)
      const response = await fetch(url)
      expect(response.headers.get('content-type')).to.match(/^text\/plain/)
      const text = await response.text()
      expect(text).to.include(
        'impersonation_replays_total{impersonation_ended="now",impersonation_client="other"} 1\n',
      )
      expect(text).to.include(
        'impersonation_replays_total{impersonation_ended="now",impersonation_client="same"} 0\n',
      )
    } finally {
      await metrics.close()
    }
    expect(await fetch(url).catch(() => 'closed')).to.equal('closed')
  })
})
