"""What a product costs on a device: nominal rates, the model, the choice by cost."""
