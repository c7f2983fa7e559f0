import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
} from '@opentelemetry/sdk-trace-base';

const EXPORT_INTERVAL_MS = 1_000;

/** Registers a real SDK that refuses or records all spans, and exports nothing. @param {'off' | 'on'} sampling */
export function startTracing(sampling) {
  stopTracing();
  const sampler = sampling === 'on' ? new AlwaysOnSampler() : new AlwaysOffSampler();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ sampler }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
}

export function stopTracing() {
  trace.disable();
  context.disable();
  propagation.disable();
}

/** Registers a real SDK that exports the metrics every second. Returns the function that ends it. */
export function startMeters() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: EXPORT_INTERVAL_MS,
    exportTimeoutMillis: EXPORT_INTERVAL_MS,
  });
  const provider = new MeterProvider({ readers: [reader] });
  metrics.setGlobalMeterProvider(provider);
  return async () => {
    await provider.shutdown();
    metrics.disable();
  };
}
